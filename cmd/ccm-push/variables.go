package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/templates"
)

// variables reads the data that the command line adds to manifests.
type variables struct {
	app      *app.App
	flags    *flags.All
	secrets  *access.Unsealer
	nats     *links.NATS
	document *extravars.Document // the document of --hiera, once it is read

	input bytes.Buffer // the part of standard input that was read
}

// options reads all but --hiera and --parameters. readEnv lets plays read the file .env.
func (f *variables) options(ctx context.Context, environ map[string]string, readEnv bool) (catalog.Options, error) {
	keys, err := f.secrets.Keys(ctx)
	if err != nil {
		return catalog.Options{}, err
	}
	f.noteNamed(f.app.Files.Note)
	again := bytes.NewReader(f.input.Bytes()) // where one run follows another
	extra, extraErr := extravars.Read(ctx, f.flags.Variables.Extra, io.MultiReader(again, io.TeeReader(f.app.In, &f.input)), keys)
	if names := extravars.InTheClear(f.flags.Variables.Extra, extra); extraErr == nil && len(names) > 0 {
		f.app.WarnOnce(fmt.Sprintf("-e %s: other users of this machine can read the value in the command line, and the shell may record it; use -e @FILE, or -e @- for standard input", strings.Join(names, ", ")))
	}
	facts, factsErr := extravars.ReadFacts(ctx, f.flags.Variables.Facts, f.flags.Variables.Fact)
	environment := make(map[string]any, len(environ))
	for name, value := range environ {
		environment[name] = value
	}
	return catalog.Options{Environ: environment, EnvFile: readEnv && !f.flags.Variables.NoReadEnv, Extra: extra, Facts: facts, Mask: &f.secrets.Mask, Opener: keys.Opener(), Note: f.app.Note}, errors.Join(extraErr, factsErr)
}

// noteNamed calls note for the files of data and facts that the command line names.
func (f *variables) noteNamed(note func(path string)) {
	for _, word := range f.flags.Variables.Extra {
		if path, isFile := strings.CutPrefix(word, "@"); isFile && word != extravars.Stdin {
			note(path)
		}
	}
	if f.flags.Variables.Facts != "" {
		note(f.flags.Variables.Facts)
	}
}

// readHiera reads --hiera, or the document that the environment names.
func (f *variables) readHiera(ctx context.Context) (*templates.Source, error) {
	keys, err := f.secrets.PlayKeys(ctx)
	if err != nil {
		return nil, err
	}
	if from := cmp.Or(f.flags.Variables.Hiera, f.app.Getenv(extravars.HieraVariable)); from != "" && !strings.Contains(from, "://") {
		f.app.Files.Note(from)
	}
	f.document, err = extravars.ReadHiera(ctx, f.flags.Variables.Hiera, f.app.Getenv(extravars.HieraVariable), f.nats.Store(), f.app.Warn)
	if err != nil {
		return nil, err
	}
	return f.document.Source(keys, f.app.Warn)
}

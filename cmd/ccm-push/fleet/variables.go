package fleet

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

// Variables reads the data that the command line adds to manifests.
type Variables struct {
	App      *app.App
	Flags    *flags.All
	Secrets  *access.Unsealer
	NATS     *links.NATS
	document *extravars.Document // the document of --hiera, once it is read

	input bytes.Buffer // the part of standard input that was read
}

// Options reads all but --hiera and --parameters. readEnv lets plays read the file .env.
func (f *Variables) Options(ctx context.Context, environ map[string]string, readEnv bool) (catalog.Options, error) {
	keys, err := f.Secrets.Keys(ctx)
	if err != nil {
		return catalog.Options{}, err
	}
	f.noteNamed(f.App.Files.Note)
	again := bytes.NewReader(f.input.Bytes()) // where one run follows another
	extra, extraErr := extravars.Read(ctx, f.Flags.Variables.Extra, io.MultiReader(again, io.TeeReader(f.App.In, &f.input)), keys)
	if names := extravars.InTheClear(f.Flags.Variables.Extra, extra); extraErr == nil && len(names) > 0 {
		f.App.WarnOnce(fmt.Sprintf("-e %s: other users of this machine can read the value in the command line, and the shell may record it; use -e @FILE, or -e @- for standard input", strings.Join(names, ", ")))
	}
	facts, factsErr := extravars.ReadFacts(ctx, f.Flags.Variables.Facts, f.Flags.Variables.Fact)
	environment := make(map[string]any, len(environ))
	for name, value := range environ {
		environment[name] = value
	}
	return catalog.Options{Environ: environment, EnvFile: readEnv && !f.Flags.Variables.NoReadEnv, Extra: extra, Facts: facts, Mask: &f.Secrets.Mask, Opener: keys.Opener(), Note: f.App.Note}, errors.Join(extraErr, factsErr)
}

// noteNamed calls note for the files of data and facts that the command line names.
func (f *Variables) noteNamed(note func(path string)) {
	for _, word := range f.Flags.Variables.Extra {
		if path, isFile := strings.CutPrefix(word, "@"); isFile && word != extravars.Stdin {
			note(path)
		}
	}
	if f.Flags.Variables.Facts != "" {
		note(f.Flags.Variables.Facts)
	}
}

// readHiera reads --hiera, or the document that the environment names.
func (f *Variables) readHiera(ctx context.Context) (*templates.Source, error) {
	keys, err := f.Secrets.PlayKeys(ctx)
	if err != nil {
		return nil, err
	}
	if from := cmp.Or(f.Flags.Variables.Hiera, f.App.Getenv(extravars.HieraVariable)); from != "" && !strings.Contains(from, "://") {
		f.App.Files.Note(from)
	}
	f.document, err = extravars.ReadHiera(ctx, f.Flags.Variables.Hiera, f.App.Getenv(extravars.HieraVariable), f.NATS.Store(), f.App.Warn)
	if err != nil {
		return nil, err
	}
	return f.document.Source(keys, f.App.Warn)
}

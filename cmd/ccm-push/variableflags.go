package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/templates"
)

// variableFlags are the data that the command line gives beside manifests.
type variableFlags struct {
	secrets      *secretFlags
	nats         *natsFlags
	extra, fact  []string
	facts, hiera string // files, of hiera also a URL
	noReadEnv    bool
	parameters   string              // file for a configuration document
	document     *extravars.Document // that hiera names, once it is read

	input bytes.Buffer // what has been read of standard input
}

func (f *variableFlags) register(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.extra, "extra-vars", "e", nil, "data with the highest precedence: `key=value`; also @file.yaml, @- (standard input) or a YAML map; may be repeated")
	set.StringVar(&f.facts, "facts", "", "`file` of facts, in YAML or JSON; they override the facts of every host")
	set.StringArrayVar(&f.fact, "fact", nil, "one fact for every host, `KEY=VALUE`; overrides --facts; may be repeated")
	set.BoolVar(&f.noReadEnv, "no-read-env", false, "do not read the file .env next to a manifest, which adds variables to Environ")
	set.StringVar(&f.hiera, "hiera", "", "`file`, http(s) URL or kv://BUCKET/KEY of NATS with hierarchical data, merged over the data of the manifests (default $CCM_HIERA_DATA)")
	set.StringVar(&f.parameters, "parameters", "", "YAML or JSON `file` of parameters for a DSC configuration document")
}

// options reads all but --hiera and --parameters. readEnv lets plays read the file .env.
func (f *variableFlags) options(ctx context.Context, environ map[string]string, readEnv bool) (catalog.Options, error) {
	keys, err := f.secrets.keys(ctx)
	if err != nil {
		return catalog.Options{}, err
	}
	f.noteNamed(f.secrets.app.files.Note)
	again := bytes.NewReader(f.input.Bytes()) // where one run follows another
	extra, extraErr := extravars.Read(ctx, f.extra, io.MultiReader(again, io.TeeReader(f.secrets.app.in, &f.input)), keys)
	if names := extravars.InTheClear(f.extra, extra); extraErr == nil && len(names) > 0 {
		f.secrets.app.warnOnce(fmt.Sprintf("-e %s: other users of this machine can read the command line, and the shell may keep it; -e @FILE reads a file, and -e @- standard input", strings.Join(names, ", ")))
	}
	facts, factsErr := extravars.ReadFacts(ctx, f.facts, f.fact)
	variables := make(map[string]any, len(environ))
	for name, value := range environ {
		variables[name] = value
	}
	return catalog.Options{Environ: variables, EnvFile: readEnv && !f.noReadEnv, Extra: extra, Facts: facts, Mask: &f.secrets.mask, Opener: keys.Opener(), Note: f.secrets.app.note}, errors.Join(extraErr, factsErr)
}

// noteNamed calls note for the files of data and facts that the command line names.
func (f *variableFlags) noteNamed(note func(path string)) {
	for _, word := range f.extra {
		if path, isFile := strings.CutPrefix(word, "@"); isFile && word != extravars.Stdin {
			note(path)
		}
	}
	if f.facts != "" {
		note(f.facts)
	}
}

// readHiera reads --hiera, or the document that the environment names.
func (f *variableFlags) readHiera(ctx context.Context, a *app) (*templates.Source, error) {
	keys, err := f.secrets.playKeys(ctx)
	if err != nil {
		return nil, err
	}
	if from := cmp.Or(f.hiera, a.getenv(extravars.HieraVariable)); from != "" && !strings.Contains(from, "://") {
		a.files.Note(from)
	}
	f.document, err = extravars.ReadHiera(ctx, f.hiera, a.getenv(extravars.HieraVariable), f.nats.store(), a.warn)
	if err != nil {
		return nil, err
	}
	return f.document.Source(keys, a.warn)
}

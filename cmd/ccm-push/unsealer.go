package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/inventory/sealed/sops"
	"github.com/ccm-push/ccm-push/inventory/sealed/vault"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
)

// An unsealer has the keys that decrypt values, and masks the decrypted values.
type unsealer struct {
	app        *app.App
	flags      *flags.All
	connection *connections // prompts for passphrases
	mask       secret.Mask

	sealed parcel.Sealed // the encrypted values of manifests, if workers need them
	closed bool          // refuses to prompt and to run programs
	ring   *sealed.Ring  // nil until it is needed
}

// keys returns the keys that decrypt the files that a command reads. The first Ctrl-C ends the prompt for a password.
func (f *unsealer) keys(ctx context.Context) (*sealed.Ring, error) {
	if f.ring != nil {
		return f.ring, nil
	}
	waiting, end := f.app.UntilStop(ctx)
	passwords, err := reach.SecretSources{Home: f.app.Home(), Stderr: output.FileOf(f.app.Err)}.Vault(waiting, f.flags.Secrets.Vault)
	end()
	if err != nil {
		return nil, exit.Prompted(err)
	}
	f.ring = &sealed.Ring{
		Opened: f.mask.Add,
		Closed: f.closed,
		Schemes: []sealed.Scheme{ // a line for each
			&vault.Scheme{Passwords: passwords},
			&project.Scheme{Keys: f.ageKeys(ctx)},
			&sops.Scheme{Run: runsProgram(ctx, f.app)},
			&sealed.Programs{Ask: f.ask(ctx)},
		},
	}
	return f.ring, nil
}

// playKeys returns the keys for files that workers get. With workers, it records the encrypted values, which are sent
// to them.
func (f *unsealer) playKeys(ctx context.Context) (*sealed.Ring, error) {
	ring, err := f.keys(ctx)
	if err != nil || f.flags.Workers.URL == "" {
		return ring, err
	}
	return f.sealed.Recording(ring), nil
}

// runsProgram returns a function that runs programs to decrypt values that they have encrypted. Ctrl-C ends them.
func runsProgram(ctx context.Context, a *app.App) func(argv []string, input []byte) ([]byte, error) {
	return func(argv []string, input []byte) ([]byte, error) {
		waiting, end := a.UntilStop(ctx)
		defer end()
		cmd := exec.CommandContext(waiting, argv[0], argv[1:]...)
		cmd.Stdin = bytes.NewReader(input)
		cmd.WaitDelay = time.Second
		return cmd.Output()
	}
}

// ask returns a function that runs the programs that print secrets, until the first Ctrl-C.
func (f *unsealer) ask(ctx context.Context) func(argv []string, timeout time.Duration) (string, error) {
	return func(argv []string, timeout time.Duration) (string, error) {
		waiting, end := f.app.UntilStop(ctx)
		defer end()
		return sealed.Ask(waiting, argv, timeout)
	}
}

// ageKeys returns the private keys for age values. Files are read when they are needed.
func (f *unsealer) ageKeys(ctx context.Context) *identity.Keys {
	a := f.app
	files := f.flags.Secrets.AgeIdentities
	if variable := a.Getenv(identity.Variable); len(files) == 0 && variable != "" {
		files = filepath.SplitList(variable)
	}
	prompt := f.connection.passphrases(ctx)
	return &identity.Keys{
		Files: files, Home: a.Home(), Getenv: a.Getenv,
		Passphrase: func(path string, again bool) ([]byte, error) {
			answer, err := prompt(path, again)
			if err != nil || answer == nil {
				return nil, err
			}
			return answer.Reveal(), nil
		},
	}
}

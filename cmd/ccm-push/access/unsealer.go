package access

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

// An Unsealer has the keys that decrypt values, and masks the decrypted values.
type Unsealer struct {
	App        *app.App
	Flags      *flags.All
	Connection *Connections // prompts for passphrases
	Mask       secret.Mask

	Sealed parcel.Sealed // the encrypted values of manifests, if workers need them
	Closed bool          // refuses to prompt and to run programs
	ring   *sealed.Ring  // nil until it is needed
}

// Keys returns the keys that decrypt the files that a command reads. The first Ctrl-C ends the prompt for a password.
func (f *Unsealer) Keys(ctx context.Context) (*sealed.Ring, error) {
	if f.ring != nil {
		return f.ring, nil
	}
	waiting, end := f.App.UntilStop(ctx)
	passwords, err := reach.SecretSources{Home: f.App.Home(), Stderr: output.FileOf(f.App.Err)}.Vault(waiting, f.Flags.Secrets.Vault)
	end()
	if err != nil {
		return nil, exit.Prompted(err)
	}
	f.ring = &sealed.Ring{
		Opened: f.Mask.Add,
		Closed: f.Closed,
		Schemes: []sealed.Scheme{ // a line for each
			&vault.Scheme{Passwords: passwords},
			&project.Scheme{Keys: f.AgeKeys(ctx)},
			&sops.Scheme{Run: runsProgram(ctx, f.App)},
			&sealed.Programs{Ask: f.ask(ctx)},
		},
	}
	return f.ring, nil
}

// PlayKeys returns the keys for files that workers get. With workers, it records the encrypted values, which are sent
// to them.
func (f *Unsealer) PlayKeys(ctx context.Context) (*sealed.Ring, error) {
	ring, err := f.Keys(ctx)
	if err != nil || f.Flags.Workers.URL == "" {
		return ring, err
	}
	return f.Sealed.Recording(ring), nil
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
func (f *Unsealer) ask(ctx context.Context) func(argv []string, timeout time.Duration) (string, error) {
	return func(argv []string, timeout time.Duration) (string, error) {
		waiting, end := f.App.UntilStop(ctx)
		defer end()
		return sealed.Ask(waiting, argv, timeout)
	}
}

// AgeKeys returns the private keys for age values. Files are read when they are needed.
func (f *Unsealer) AgeKeys(ctx context.Context) *identity.Keys {
	a := f.App
	files := f.Flags.Secrets.AgeIdentities
	if variable := a.Getenv(identity.Variable); len(files) == 0 && variable != "" {
		files = filepath.SplitList(variable)
	}
	prompt := f.Connection.passphrases(ctx)
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

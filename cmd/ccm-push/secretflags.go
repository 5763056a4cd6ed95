package main

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/inventory/sealed/sops"
	"github.com/ccm-push/ccm-push/inventory/sealed/vault"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
)

// secretFlags say how what is encrypted is opened, and keep what has been opened out of sight.
type secretFlags struct {
	app   *app
	vault reach.VaultSources
	age   ageFlags
	mask  secret.Mask

	workers *workersFlags
	sealed  parcel.Sealed // what is encrypted in manifests, if workers need it
	closed  bool          // nothing is asked for that is not at hand
	ring    *sealed.Ring  // nil until it is needed
}

func (f *secretFlags) register(set *pflag.FlagSet) {
	v := &f.vault
	set.StringArrayVar(&v.IDs, "vault-id", nil, "ansible-vault password: `[LABEL@]SOURCE`, where SOURCE is a file, a program that prints it, or prompt; may be repeated")
	set.StringArrayVar(&v.Files, "vault-password-file", nil, "`file` with an ansible-vault password, or a program that prints it; may be repeated (also: --vault-pass-file)")
	set.BoolVarP(&v.Ask, "ask-vault-pass", "J", false, "prompt for an ansible-vault password (also: --ask-vault-password)")
	f.age.register(set)
}

// keys open what is encrypted in the files that a command reads. The first Ctrl-C ends the
// question for a password.
func (f *secretFlags) keys(ctx context.Context) (*sealed.Ring, error) {
	if f.ring != nil {
		return f.ring, nil
	}
	waiting, end := f.app.untilStop(ctx)
	passwords, err := reach.SecretSources{Home: f.app.home(), Stderr: fileOf(f.app.err)}.Vault(waiting, f.vault)
	end()
	if err != nil {
		return nil, interrupted(err)
	}
	f.ring = &sealed.Ring{
		Opened: f.mask.Add,
		Closed: f.closed,
		Schemes: []sealed.Scheme{ // a line for each
			&vault.Scheme{Passwords: passwords},
			&project.Scheme{Keys: f.age.keys(ctx)},
			&sops.Scheme{Run: f.app.runsProgram(ctx)},
			&sealed.Programs{Ask: f.ask(ctx)},
		},
	}
	return f.ring, nil
}

// playKeys are keys for files that workers get, who are told what is encrypted in them.
func (f *secretFlags) playKeys(ctx context.Context) (*sealed.Ring, error) {
	ring, err := f.keys(ctx)
	if err != nil || f.workers.url == "" {
		return ring, err
	}
	return f.sealed.Recording(ring), nil
}

// runsProgram runs programs that open what they have encrypted. Ctrl-C ends them.
func (a *app) runsProgram(ctx context.Context) func(argv []string, input []byte) ([]byte, error) {
	return func(argv []string, input []byte) ([]byte, error) {
		waiting, end := a.untilStop(ctx)
		defer end()
		cmd := exec.CommandContext(waiting, argv[0], argv[1:]...)
		cmd.Stdin = bytes.NewReader(input)
		cmd.WaitDelay = time.Second
		return cmd.Output()
	}
}

// ask runs the programs that print secrets, until the first Ctrl-C.
func (f *secretFlags) ask(ctx context.Context) func(argv []string, timeout time.Duration) (string, error) {
	return func(argv []string, timeout time.Duration) (string, error) {
		waiting, end := f.app.untilStop(ctx)
		defer end()
		return sealed.Ask(waiting, argv, timeout)
	}
}

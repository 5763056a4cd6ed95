package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/sealed/vault"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
)

// secretFlags say how what is encrypted is opened, and keep what has been opened out of sight.
type secretFlags struct {
	app   *app
	vault reach.VaultSources
	mask  secret.Mask

	ring *sealed.Ring // nil until it is needed
}

func (f *secretFlags) register(set *pflag.FlagSet) {
	v := &f.vault
	set.StringArrayVar(&v.IDs, "vault-id", nil, "password of ansible-vault: `[LABEL@]SOURCE`, a file, a program that prints it, or prompt; may be repeated")
	set.StringArrayVar(&v.Files, "vault-password-file", nil, "`file` with a password of ansible-vault, or a program that prints it; may be repeated (also: --vault-pass-file)")
	set.BoolVarP(&v.Ask, "ask-vault-pass", "J", false, "ask for a password of ansible-vault (also: --ask-vault-password)")
}

// keys open what is encrypted in the files that a command reads. The first Ctrl-C ends the
// question for a password.
func (f *secretFlags) keys(ctx context.Context) (*sealed.Ring, error) {
	if f.ring != nil {
		return f.ring, nil
	}
	ctx, end := f.app.untilStop(ctx)
	defer end()
	passwords, err := reach.SecretSources{Home: f.app.home(), Stderr: fileOf(f.app.err)}.Vault(ctx, f.vault)
	if err != nil {
		return nil, interrupted(err)
	}
	f.ring = &sealed.Ring{
		Opened: f.mask.Add,
		Schemes: []sealed.Scheme{ // a line for each
			&vault.Scheme{Passwords: passwords},
		},
	}
	return f.ring, nil
}

package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
)

// ageFlags say with which private keys what age has encrypted is decrypted.
type ageFlags struct {
	app        *app
	connection *connectionFlags // which gives passphrases
	files      []string
}

func (f *ageFlags) register(set *pflag.FlagSet) {
	set.StringArrayVar(&f.files, "age-identity", nil, "private key `file` that decrypts age values, from age-keygen or ssh-keygen; may be repeated (default $CCM_AGE_IDENTITY, or ~/.ssh/id_ed25519, ~/.ssh/id_rsa, ~/.config/age/keys.txt and the key file of sops)")
}

// keys are the private keys, read when they are needed.
func (f *ageFlags) keys(ctx context.Context) *identity.Keys {
	a := f.app
	files := f.files
	if variable := a.getenv(identity.Variable); len(files) == 0 && variable != "" {
		files = filepath.SplitList(variable)
	}
	ask := f.connection.passphrases(ctx)
	return &identity.Keys{
		Files: files, Home: a.home(), Getenv: a.getenv,
		Passphrase: func(path string, again bool) ([]byte, error) {
			answer, err := ask(path, again)
			if err != nil || answer == nil {
				return nil, err
			}
			return answer.Reveal(), nil
		},
	}
}

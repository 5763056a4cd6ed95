package secret

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func secretImportVaultCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "import-vault FILE...",
		Short: "re-encrypt ansible-vault values with age",
		Long: `ccm-push secret import-vault decrypts values of ansible-vault, and encrypts them with age for the
people in .ccm-secrets.yaml. It changes files in place: YAML files with !vault values, and files
that are encrypted as a whole. Pass the old password with --vault-password-file, --vault-id or
--ask-vault-pass.`,
		Example: `  ccm-push --ask-vault-pass secret import-vault group_vars/all.yml`,
		Args:    arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("secret import-vault"); err != nil {
				return err
			}
			var wrong error
			for _, name := range args {
				text, err := importVault(cmd.Context(), f, name)
				wrong = errors.Join(wrong, err)
				if err == nil {
					wrong = errors.Join(wrong, p.Print(text+"\n"))
				}
			}
			return wrong
		},
	}
}

func importVault(ctx context.Context, f *access.Unsealer, name string) (said string, err error) {
	ring, err := f.Keys(ctx)
	if err != nil {
		return "", err
	}
	d, n, err := project.Import(name, f.AgeKeys(ctx), ring.Opener())
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return fmt.Sprintf("%s: encrypted, for %s", events.Line(name), forWhom(d)), nil
	}
	return encryptedValues(d, n), nil
}

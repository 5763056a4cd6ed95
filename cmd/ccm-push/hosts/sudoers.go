package hosts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

func sudoersCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "sudoers PATTERN",
		Short: "print the sudoers rule with which ccm-push can become another user",
		Long: `ccm-push sudoers prints a rule for sudoers(5). The rule allows the login user to run this ccm-push
as root, or as --become-user, without a password. The command contacts no host. Another version of
ccm-push may need another rule.

The rule allows one fixed script, which installs and starts the host program. The host program can
make any change that root can make, so give the rule only to users whom you trust as root.`,
		Example:           `  ccm-push -u deploy sudoers 'web*'`,
		Args:              arguments.OnePattern,
		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Flags.Inventory.ListHosts {
				return f.Inventory.PrintHosts(cmd.Context(), p, args)
			}
			return printSudoers(cmd.Context(), f, p, args[0])
		},
	}
}

// printSudoers prints a rule for each pair of users among the hosts of a pattern.
func printSudoers(ctx context.Context, f *fleet.Fleet, p *output.Printer, pattern string) error {
	if err := p.TextOnly("sudoers"); err != nil {
		return err
	}
	r, hosts, err := f.RunnerFor(ctx, pattern, fleet.Purpose{})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := r.CheckReach(hosts); err != nil { // without this, the login user of a host might be unknown
		return err
	}
	rules, err := r.Sudoers(hosts)
	if err != nil {
		return err
	}
	return p.Print(rules)
}

package hosts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/reach"
)

func explainConnectionCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "explain-connection PATTERN...",
		Short: "print the connection settings of hosts and their sources; contact no host",
		Long: `ccm-push explain-connection prints each connection setting of a host with its value and its source.
The sources are, highest precedence first: the command line, the inventory, ssh_config, and
defaults. Then ccm-push prints the jump hosts, in the order in which it connects to them. If the
settings of a host are invalid, ccm-push prints the reason instead.

If several hosts have equal settings, ccm-push prints the settings once. {host} in a setting stands
for the name of each host.`,
		Example: `  ccm-push explain-connection web1
  ccm-push -u deploy -b explain-connection 'web*'`,
		Args:              arguments.AtLeast(1),
		ValidArgsFunction: f.Inventory.CompleteTerm, // of each word
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Flags.Inventory.ListHosts {
				return f.Inventory.PrintHosts(cmd.Context(), p, args)
			}
			return explainConnection(cmd.Context(), f, p, args)
		},
	}
}

func explainConnection(ctx context.Context, f *fleet.Fleet, p *output.Printer, patterns []string) error {
	r, err := f.Runner(ctx, fleet.Purpose{})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	f.Connection.MentionPasswords(&r.Connect)
	hosts, err := selectAll(r.Inventory, &f.Inventory, patterns)
	if err != nil {
		return err
	}
	var all []reach.Reached
	for _, h := range hosts {
		reached, err := r.Connect.Explain(r.Inventory, h)
		if err != nil {
			return access.Positioned(err)
		}
		all = append(all, reached)
	}
	if !p.JSON() {
		return p.Print(reach.Text(all))
	}
	for _, one := range all {
		line, err := one.JSON()
		if err != nil {
			return err
		}
		if err := p.Print(string(line) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// selectAll returns the hosts of several patterns, each once.
func selectAll(inv *inventory.Inventory, f *inventories.Reader, patterns []string) ([]*inventory.Host, error) {
	var all []*inventory.Host
	met := map[string]bool{}
	for _, pattern := range patterns {
		hosts, err := f.SelectHosts(inv, pattern)
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			if !met[h.Name] {
				met[h.Name] = true
				all = append(all, h)
			}
		}
	}
	return all, nil
}

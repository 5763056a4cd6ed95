package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

func checkHealthCommand(p *fleet.Plays, out *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "check-health MANIFEST...",
		Short: "run the health checks of manifests; change nothing",
		Long: `ccm-push check-health runs the health checks of the resources in manifests, and changes nothing on
the hosts. The command also works while another run is changing the same hosts.

ccm-push skips resources without health checks, and resources whose condition (property control) is
false. If a resource is unhealthy, ccm-push skips the resources that require it. If a health check
is not OK, the exit status is 2.`,
		Example: `  ccm-push check-health site.yaml
  ccm-push -l 'web*' check-health site.yaml`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return checkHealth(cmd.Context(), p, out, args) },
	}
}

// checkHealth runs the health checks of manifests.
func checkHealth(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string) error {
	switch {
	case p.Fleet.Flags.Mode.Check:
		return errors.New("check-health changes nothing, and does not accept --check: remove --check")
	case p.Fleet.Flags.Mode.Step:
		return errors.New("--step prompts before changes, and check-health changes nothing")
	case p.Fleet.Flags.Selection.List:
		return p.Apply(ctx, out, paths)
	}
	r, err := p.Runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Options.Monitor = true
	return p.Run(ctx, r, out, fleet.Header("check-health", paths, r.Plays))
}

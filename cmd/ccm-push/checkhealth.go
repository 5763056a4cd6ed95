package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func checkHealthCommand(p *plays, out *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "check-health MANIFEST...",
		Short: "run the health checks of manifests, and change nothing",
		Long: `check-health runs the health checks of the resources in manifests and nothing
else: nothing is changed, and no lock is taken. control and require apply as in
any run: a check is not asked if something that its resource requires is not
well. Resources without health checks are not looked at, and count as skipped.

The exit status is 2 if a check is not OK.`,
		Args: atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.checkHealth(cmd.Context(), out, args) },
	}
}

// checkHealth runs the health checks of manifests.
func (p *plays) checkHealth(ctx context.Context, out *printer, paths []string) error {
	switch {
	case p.fleet.mode.check:
		return errors.New("cannot set healthcheck only and noop mode at the same time; leave --check out: check-health changes nothing")
	case p.fleet.mode.step:
		return errors.New("--step asks before something is done, and check-health does nothing")
	case p.selection.list:
		return p.apply(ctx, out, paths)
	}
	r, err := p.runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Options.Monitor = true
	return p.run(ctx, r, out, header("check-health", paths, r.Plays))
}

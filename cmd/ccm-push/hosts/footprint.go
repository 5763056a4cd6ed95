package hosts

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func footprintCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "footprint PATTERN",
		Short: "list the files of ccm-push on hosts",
		Long: `ccm-push footprint lists all files that ccm-push keeps on hosts: host programs, locks, and state for
the next run. It lists the files of the login user, and with -b also the files of root, or of
--become-user.`,
		Example: `  ccm-push footprint all
  ccm-push -b footprint web1`,
		Args:              arguments.OnePattern,
		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, false)
		},
	}
}

// printFootprints lists the files that ccm-push left on the hosts of a pattern, and removes them with remove, except in
// a check run.
func printFootprints(ctx context.Context, f *fleet.Fleet, p *output.Printer, args []string, remove bool) error {
	if f.Flags.Inventory.ListHosts {
		return f.Inventory.PrintHosts(ctx, p, args)
	}
	r, hosts, err := f.RunnerFor(ctx, args[0], fleet.Purpose{})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	p.TellProblems(r)
	done, err := f.ReachHosts(ctx, r, hosts)
	if err != nil {
		return err
	}
	defer done()
	ctx, end := f.App.UntilStop(ctx)
	defer end()
	report := &playbooks.FootprintReport{Clean: remove, Removes: remove && !f.Flags.Mode.Check}
	var printErr error
	r.Footprints(ctx, hosts, report.Removes, func(answer playbooks.HostFootprint) {
		if ctx.Err() != nil {
			return
		}
		if answer.Err != nil {
			r.Events.Report(answer.Err)
		}
		printErr = errors.Join(printErr, addFootprint(report, p, answer))
	})
	if !p.JSON() {
		printErr = errors.Join(printErr, p.Print(report.Text()))
	}
	if printErr != nil {
		return printErr
	}
	return footprintStatus(report, r.Tally.Summary(ctx.Err() != nil), p.Flags.Output.DetailedExitCode)
}

// addFootprint takes the answer of a host, or prints it at once as JSON.
func addFootprint(report *playbooks.FootprintReport, p *output.Printer, f playbooks.HostFootprint) error {
	for _, u := range f.Users {
		report.Add(f.Host, u)
		if !p.JSON() {
			continue
		}
		line, err := report.JSON(f.Host, u)
		if err := errors.Join(err, p.Print(string(line)+"\n")); err != nil {
			return err
		}
	}
	return nil
}

func footprintStatus(report *playbooks.FootprintReport, s events.Summary, detailed bool) error {
	if s.Interrupted {
		return exit.Status(exit.Interrupted)
	}
	status := s.ExitStatus(false)
	if report.Stuck && status&exit.Failed == 0 {
		status += exit.Failed
	}
	if report.Found && report.Clean && detailed {
		status += exit.Changed
	}
	return exit.Error(status)
}

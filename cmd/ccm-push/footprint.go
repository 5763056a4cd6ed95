package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/footprint"
)

func (a *app) footprintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "footprint PATTERN",
		Short: "list what ccm-push has left on hosts",
		Long: `footprint lists every file that ccm-push has left on the hosts of a pattern, for the
login user, and with -b for the user that it becomes as well: host programs, locks,
and what has to be remembered from one run to the next.`,
		Args:              onePattern,
		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.footprints(cmd.Context(), args, false)
		},
	}
}

// footprints lists what was left on the hosts of a pattern, and removes it if told
// to and it is no check run.
func (a *app) footprints(ctx context.Context, args []string, remove bool) error {
	if a.flags.listHosts {
		return a.listPattern(ctx, args)
	}
	r, hosts, err := a.runnerFor(ctx, args[0])
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := a.credentials(ctx, r, hosts); err != nil {
		return err
	}
	a.tellProblems(r)
	ctx, end := a.untilStop(ctx)
	defer end()
	report := &footprint.Report{Clean: remove, Removes: remove && !a.flags.check}
	var printErr error
	r.Footprints(ctx, hosts, report.Removes, func(f playbooks.HostFootprint) {
		if ctx.Err() != nil {
			return
		}
		if f.Err != nil {
			r.Events.Report(f.Err)
		}
		printErr = errors.Join(printErr, a.footprint(report, f))
	})
	if a.flags.output == "text" {
		printErr = errors.Join(printErr, a.print(report.Text()))
	}
	if printErr != nil {
		return printErr
	}
	return a.footprintStatus(report, r.Tally.Summary(ctx.Err() != nil))
}

// footprint takes the answer of a host, or prints it at once as JSON.
func (a *app) footprint(report *footprint.Report, f playbooks.HostFootprint) error {
	for _, u := range f.Users {
		report.Add(f.Host, u)
		if a.flags.output != "json" {
			continue
		}
		line, err := report.JSON(f.Host, u)
		if err := errors.Join(err, a.print(string(line)+"\n")); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) footprintStatus(report *footprint.Report, s events.Summary) error {
	status := s.ExitStatus(false)
	if report.Stuck && status&failedStatus == 0 {
		status += failedStatus
	}
	if report.Found && report.Clean && a.flags.detailedExitCode {
		status += changedStatus
	}
	switch {
	case s.Interrupted:
		return exitStatus(interruptedStatus)
	case status != 0:
		return exitStatus(status)
	}
	return nil
}

package runs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

func runsReportCommand(a *app.App, p *output.Printer) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:               "report RUN",
		ValidArgsFunction: arguments.CompleteRun(a, 1),
		Short:             "write reports of a recorded run",
		Long: `ccm-push runs report writes files from a recorded run. The flags --log, --junit, --report and
--metrics mean the same as in a run. --format prints a report on standard output. If the run is in
progress or was killed, the report ends with the last recorded event.`,
		Example: `  ccm-push runs report last --format md | gh pr comment 7 -F -
  ccm-push runs report 7k2m --junit run.xml --report run.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("runs report takes one RUN, but got %d arguments", len(args))
			}
			return arguments.AtLeast(1)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return reportRun(a, p, args[0], format) },
	}
	c.Flags().StringVar(&format, "format", "", "print a report in this format: "+fleet.FormatNames)
	_ = c.RegisterFlagCompletionFunc("format", func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return arguments.Completions("", word, slices.Sorted(maps.Keys(fleet.Formats))), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// reportRun sends the events of a recorded run to the reporters of reports.
func reportRun(a *app.App, p *output.Printer, name, format string) error {
	write, known := fleet.Formats[format]
	switch {
	case p.Flags.Output.Reports.Trace != "":
		return errors.New("--trace is for runs: a record does not say when each phase began")
	case format != "" && !known:
		return fmt.Errorf("--format %q: use one of %s", format, fleet.FormatNames)
	case format == "" && !p.Flags.Output.Reports.Any():
		return errors.New("no output is chosen; use --format " + fleet.FormatNames + ", or a file such as --report FILE.html")
	}
	r, err := a.ShownRun(name)
	if err != nil {
		return err
	}
	to, closeAll, err := fleet.FileReporters(&p.Flags.Output.Reports)
	if err != nil {
		return err
	}
	all := &report.Run{Stable: format == "junit"}
	stream := events.NewStream(r.Run, time.Now, append(to, all)...)
	for e, err := range r.Events() {
		if err != nil {
			return errors.Join(err, closeAll())
		}
		if start, ok := e.(events.RunStart); ok && !start.Diff && (format != "" || p.Flags.Output.Reports.HaveDiffs()) {
			a.Warn(fmt.Sprintf("run %s recorded no diffs; to record diffs, pass --diff, --report or --junit to the next run", r.Run))
		}
		stream.Report(e)
	}
	for _, one := range to {
		if files, ok := one.(*report.Files); ok && r.End == nil {
			files.Write() // the results so far of a run that was killed
		}
	}
	if err := errors.Join(stream.Err(), closeAll()); err != nil || format == "" {
		return err
	}
	return write(all, a.Out)
}

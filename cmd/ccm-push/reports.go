package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// reportsForRuns returns an error for flags of reports if the command is not a run.
func reportsForRuns(f *flags.Reports, cmd *cobra.Command) error {
	if !cmd.HasParent() || slices.Contains([]string{"resume", "undo", "check-health", "report", "watch"}, cmd.Name()) {
		return nil
	}
	if f.Any() {
		return fmt.Errorf("--log, --junit, --report, --metrics and --trace are for runs, not for %s", cmd.CommandPath())
	}
	return nil
}

// reportFiles returns the files to write at the end; nil means none.
func reportFiles(f *flags.Reports) *report.Files {
	var files report.Files
	if f.JUnit != "" {
		files.Run.Stable = true
		files.Files = append(files.Files, report.File{Path: f.JUnit, Format: (*report.Run).JUnit})
	}
	for _, path := range f.Files {
		files.Files = append(files.Files, report.File{Path: path, Format: formats[flags.ReportFormat(path)]})
	}
	if f.Metrics != "" {
		files.Files = append(files.Files, report.File{Path: f.Metrics, Format: report.Metrics(f.Metrics)})
	}
	if len(files.Files) == 0 {
		return nil
	}
	return &files
}

// fileReporters returns the reporters that write the files of --log, --junit, --report and --metrics. Its error names a file that
// cannot be written. The caller calls closeAll when the run has ended.
func fileReporters(f *flags.Reports) (to []events.Reporter, closeAll func() error, err error) {
	closeAll = func() error { return nil }
	if files := reportFiles(f); files != nil {
		if err := files.Check(); err != nil {
			return nil, closeAll, err
		}
		to = append(to, files)
	}
	if f.Log != "" {
		file, err := appendTo(f.Log, `{"event":`)
		if err != nil {
			return nil, closeAll, fmt.Errorf("--log cannot be written: %w", err)
		}
		to, closeAll = append(to, events.NewJSON(file)), file.Close
	}
	return to, closeAll, nil
}

// appendTo opens a file to append lines to it. Its content must begin like such a line: an inventory that the operator
// names by mistake stays unchanged.
func appendTo(path, line string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		if err := begins(path, line); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
}

// begins reports a file that does not begin with a text.
func begins(path, text string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, len(text))
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(head) != text {
		return fmt.Errorf("%s exists and has other content: its first line does not begin with %s", path, text)
	}
	return nil
}

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
	c.Flags().StringVar(&format, "format", "", "print a report in this format: "+formatNames)
	_ = c.RegisterFlagCompletionFunc("format", func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return arguments.Completions("", word, slices.Sorted(maps.Keys(formats))), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// formats has the formats of --format.
var formats = map[string]report.Format{"md": (*report.Run).Markdown, "html": (*report.Run).HTML, "junit": (*report.Run).JUnit}

const formatNames = "md, html or junit"

// reportRun sends the events of a recorded run to the reporters of reports.
func reportRun(a *app.App, p *output.Printer, name, format string) error {
	write, known := formats[format]
	switch {
	case p.Flags.Output.Reports.Trace != "":
		return errors.New("--trace is for runs: a record does not say when each phase began")
	case format != "" && !known:
		return fmt.Errorf("--format %q: use one of %s", format, formatNames)
	case format == "" && !p.Flags.Output.Reports.Any():
		return errors.New("no output is chosen; use --format " + formatNames + ", or a file such as --report FILE.html")
	}
	r, err := a.ShownRun(name)
	if err != nil {
		return err
	}
	to, closeAll, err := fileReporters(&p.Flags.Output.Reports)
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

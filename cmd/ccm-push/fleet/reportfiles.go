package fleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// ReportsForRuns returns an error for flags of reports if the command is not a run.
func ReportsForRuns(f *flags.Reports, cmd *cobra.Command) error {
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
		files.Files = append(files.Files, report.File{Path: path, Format: Formats[flags.ReportFormat(path)]})
	}
	if f.Metrics != "" {
		files.Files = append(files.Files, report.File{Path: f.Metrics, Format: report.Metrics(f.Metrics)})
	}
	if len(files.Files) == 0 {
		return nil
	}
	return &files
}

// FileReporters returns the reporters that write the files of --log, --junit, --report and --metrics. Its error names a file that
// cannot be written. The caller calls closeAll when the run has ended.
func FileReporters(f *flags.Reports) (to []events.Reporter, closeAll func() error, err error) {
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

// Formats has the formats of --format.
var Formats = map[string]report.Format{"md": (*report.Run).Markdown, "html": (*report.Run).HTML, "junit": (*report.Run).JUnit}

// FormatNames lists the names of Formats for messages.
const FormatNames = "md, html or junit"

package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Values of --progress.
const (
	ProgressAuto  = "auto"
	ProgressLive  = "live"
	ProgressPlain = "plain"
	ProgressNone  = "none"
)

// ProgressModes lists the values of --progress.
var ProgressModes = []string{ProgressAuto, ProgressLive, ProgressPlain, ProgressNone}

// Output holds the flags about what commands print.
type Output struct {
	Format           string // text, json or dsc-json; for validate also github and gitlab
	Color            string
	Verbose          int
	Quiet            bool
	Fold             string // auto, always or never
	Timing           bool
	Follow           string // pattern of hosts
	Stream           bool   // follows all hosts of an ad-hoc call
	Progress         string
	DetailedExitCode bool
	Reports          Reports
}

func (f *Output) register(set *pflag.FlagSet) {
	set.StringVarP(&f.Format, "output", "o", "text", "output format: text, json (an event per line) or dsc-json (a line per host); for validate also github and gitlab")
	set.StringVar(&f.Color, "color", "auto", "colours: auto, always or never")
	set.CountVarP(&f.Verbose, "verbose", "v", "also print stable and skipped resources")
	set.BoolVarP(&f.Quiet, "quiet", "q", false, "print only failures and totals")
	set.StringVar(&f.Fold, "fold", "auto", "print equal results of several hosts once, at the end of a batch: auto (for 4 or more hosts), always or never")
	set.BoolVar(&f.Timing, "timing", false, "print how long each host took to connect, start, compile and apply")
	set.StringVar(&f.Follow, "follow", "", "print the output of commands on these `hosts` (a name or a pattern) as it arrives; the name of the host is before each line")
	set.BoolVar(&f.Stream, "stream", false, "print the output of commands on all hosts as it arrives, with the host before each line")
	set.StringVar(&f.Progress, "progress", ProgressAuto, "progress of hosts: live (at the bottom of the terminal), plain (a line on standard error every 30s), none, or auto (live on a terminal, plain otherwise)")
	set.BoolVar(&f.DetailedExitCode, "detailed-exitcode", false, "add 8 to the exit status if anything changed")
	f.Reports.register(set)
}

func (f *Output) validate() error {
	switch {
	case !slices.Contains([]string{"text", "json", "dsc-json", "github", "gitlab"}, f.Format):
		return fmt.Errorf("--output %q: use text, json or dsc-json; with validate also github or gitlab", f.Format)
	case !slices.Contains(ProgressModes, f.Progress):
		return fmt.Errorf("--progress %q: use auto, live, plain or none", f.Progress)
	case f.Color != "auto" && f.Color != "always" && f.Color != "never":
		return fmt.Errorf("--color %q: use auto, always or never", f.Color)
	case f.Fold != "auto" && f.Fold != "always" && f.Fold != "never":
		return fmt.Errorf("--fold %q: use auto, always or never", f.Fold)
	case f.Follow != "" && f.Stream:
		return errors.New("--follow and --stream exclude each other: remove one of them")
	case (f.Follow != "" || f.Stream) && f.Format == "dsc-json":
		return errors.New("--output dsc-json cannot contain the output of commands; use --follow and --stream with --output text or json")
	case f.Quiet && f.Verbose > 0:
		return errors.New("-q and -v exclude each other: remove one of them")
	}
	return nil
}

// Reports holds the flags about files that a run writes.
type Reports struct {
	Log     string
	JUnit   string
	Files   []string // .md or .html
	Metrics string
	Trace   string
}

func (f *Reports) register(set *pflag.FlagSet) {
	set.StringVar(&f.Log, "log", "", "append the events of the run to this `file`, like --output json")
	set.StringVar(&f.JUnit, "junit", "", "write JUnit XML to this `file` after the run")
	set.StringArrayVar(&f.Files, "report", nil, "report `file` after the run: FILE.md or FILE.html")
	set.StringVar(&f.Metrics, "metrics", "", "write Prometheus metrics to this `file` after the run; for node_exporter, the name must end with .prom")
	set.StringVar(&f.Trace, "trace", "", "append the trace of the run to this `file`, as JSON lines of OTLP; to send the trace to a collector, set OTEL_EXPORTER_OTLP_ENDPOINT")
}

// Any reports whether any of the flags is set.
func (f *Reports) Any() bool {
	return f.Log != "" || f.JUnit != "" || len(f.Files) > 0 || f.Metrics != "" || f.Trace != ""
}

// HaveDiffs reports whether a file contains changes of text, which hosts must send for it.
func (f *Reports) HaveDiffs() bool { return f.JUnit != "" || len(f.Files) > 0 }

func (f *Reports) validate() error {
	for _, path := range f.Files {
		if ReportFormat(path) == "" {
			return fmt.Errorf("--report %s: use a name that ends with .md or .html", path)
		}
	}
	for _, one := range []struct{ flag, path string }{{"log", f.Log}, {"junit", f.JUnit}, {"trace", f.Trace}} {
		if one.path == "-" {
			return fmt.Errorf("--%s needs a file name, not -; for standard output use /dev/stdout, or --output json for events", one.flag)
		}
	}
	if f.Metrics != "" && filepath.Ext(f.Metrics) != ".prom" {
		return fmt.Errorf("--metrics %s: node_exporter reads files whose name ends with .prom", f.Metrics)
	}
	return nil
}

// ReportFormat returns the format of a report by the name of its file, md or html; empty if the name has no known ending.
func ReportFormat(path string) string {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".md", ".html":
		return ext[1:]
	}
	return ""
}

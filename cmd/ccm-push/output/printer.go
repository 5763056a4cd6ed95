package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Printer prints the results of commands, in the format that flags choose.
type Printer struct {
	App   *app.App
	Flags *flags.All
}

// ForRuns reports an --output that a command does not have.
func (p *Printer) ForRuns(cmd *cobra.Command) error {
	if (p.Flags.Output.Format == "github" || p.Flags.Output.Format == "gitlab") && cmd.Name() != "validate" {
		return fmt.Errorf("--output %s works only with validate; for a run, use --report FILE.md or --junit FILE", p.Flags.Output.Format)
	}
	if p.Flags.Output.Format == "dsc-json" && cmd.HasParent() {
		return fmt.Errorf("--output dsc-json is for runs; %s cannot print that", cmd.Name())
	}
	return nil
}

// TextOnly reports --output json for a command that has only text to print.
func (p *Printer) TextOnly(command string) error {
	if p.Flags.Output.Format != "text" {
		return fmt.Errorf("--output %s is for runs and facts; %s prints text", p.Flags.Output.Format, command)
	}
	return nil
}

// JSON reports whether the format is JSON.
func (p *Printer) JSON() bool { return p.Flags.Output.Format == "json" }

// Print prints a text on standard output.
func (p *Printer) Print(text string) error {
	_, err := io.WriteString(p.App.Out, text)
	return err
}

// PrintJSON prints each value as JSON on a line.
func PrintJSON[T any](p *Printer, values ...T) error {
	var b strings.Builder
	for _, v := range values {
		line, err := printable.JSON(v)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return p.Print(b.String())
}

// Reporter prints a run of plays on standard output. options describe the kind of run; the flags and the terminal set the
// other options.
func (p *Printer) Reporter(r *playbooks.Runner, options events.TextOptions) events.Reporter {
	if p.Flags.Output.Format != "dsc-json" {
		options.Diff = p.Flags.Mode.Diff != ""
		return p.Replayer(p.App.Out, options)
	}
	documents := events.NewDSC(p.App.Out)
	for _, play := range r.Plays {
		if play.Configuration != nil {
			documents.Add(play.Name, play.Configuration)
		}
	}
	return documents
}

// Replayer returns a reporter for events that may come from a run that is not in progress. It prints to out, which
// leads to standard output.
func (p *Printer) Replayer(out io.Writer, options events.TextOptions) events.Reporter {
	if p.JSON() {
		return events.NewJSON(out)
	}
	options.Verbose, options.Quiet, options.Timing = p.Flags.Output.Verbose, p.Flags.Output.Quiet, p.Flags.Output.Timing
	options.Fold = foldFrom[p.Flags.Output.Fold]
	options.DiffStat = p.Flags.Mode.Diff == "stat"
	terminal := p.OnTerminal()
	if terminal {
		options.Source, options.Width = WithSource, TerminalWidth(p.App.Out)
	}
	options.Color = p.Flags.Output.Color == "always" || p.Flags.Output.Color == "auto" && events.WantColor(terminal, p.App.Getenv)
	return events.NewText(out, options)
}

// OnTerminal reports whether standard output is a terminal.
func (p *Printer) OnTerminal() bool {
	f, ok := FileOf(p.App.Out).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// foldFrom is from how many hosts on outcomes are folded.
var foldFrom = map[string]int{"auto": 4, "always": 1, "never": 0}

// Answers returns reporters for queries of hosts: they print answers on standard output, and errors on standard error.
func (p *Printer) Answers(r *playbooks.Runner, trust func(hosts []string) string) []events.Reporter {
	if p.JSON() {
		return []events.Reporter{p.Reporter(r, events.TextOptions{})}
	}
	problems := events.NewText(p.App.Err, events.TextOptions{AdHoc: true, Trust: trust})
	return []events.Reporter{events.NewAnswers(p.App.Out), events.Problems{Reporter: problems}}
}

// TellProblems has a command that prints answers, and not events, report on standard error
// which hosts have none.
func (p *Printer) TellProblems(r *playbooks.Runner) {
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, r.Tally, events.NewText(p.App.Err, events.TextOptions{}))
}

// Status is the exit status that a summary amounts to, or nil for 0.
func (p *Printer) Status(s events.Summary) error {
	if s.Interrupted {
		return exit.Status(exit.Interrupted)
	}
	return exit.Error(s.ExitStatus(p.Flags.Output.DetailedExitCode))
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A printer prints the results of commands, in the format that flags choose.
type printer struct {
	app   *app
	flags *flags.All
}

// forRuns reports an --output that a command does not have.
func (p *printer) forRuns(cmd *cobra.Command) error {
	if (p.flags.Output.Format == "github" || p.flags.Output.Format == "gitlab") && cmd.Name() != "validate" {
		return fmt.Errorf("--output %s works only with validate; for a run, use --report FILE.md or --junit FILE", p.flags.Output.Format)
	}
	if p.flags.Output.Format == "dsc-json" && cmd.HasParent() {
		return fmt.Errorf("--output dsc-json is for runs; %s cannot print that", cmd.Name())
	}
	return nil
}

// textOnly reports --output json for a command that has only text to print.
func (p *printer) textOnly(command string) error {
	if p.flags.Output.Format != "text" {
		return fmt.Errorf("--output %s is for runs and facts; %s prints text", p.flags.Output.Format, command)
	}
	return nil
}

func (p *printer) json() bool { return p.flags.Output.Format == "json" }

func (p *printer) print(text string) error {
	_, err := io.WriteString(p.app.out, text)
	return err
}

// printJSON prints each value as JSON on a line.
func printJSON[T any](p *printer, values ...T) error {
	var b strings.Builder
	for _, v := range values {
		line, err := printable.JSON(v)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return p.print(b.String())
}

// reporter prints a run of plays on standard output. options hold what sort of run
// it is; the flags and the terminal say the rest.
func (p *printer) reporter(r *playbooks.Runner, options events.TextOptions) events.Reporter {
	if p.flags.Output.Format != "dsc-json" {
		options.Diff = p.flags.Mode.Diff != ""
		return p.replayer(p.app.out, options)
	}
	documents := events.NewDSC(p.app.out)
	for _, play := range r.Plays {
		if play.Configuration != nil {
			documents.Add(play.Name, play.Configuration)
		}
	}
	return documents
}

// replayer returns a reporter for events that may come from a run that is not in progress. It prints to out, which
// leads to standard output.
func (p *printer) replayer(out io.Writer, options events.TextOptions) events.Reporter {
	if p.json() {
		return events.NewJSON(out)
	}
	options.Verbose, options.Quiet, options.Timing = p.flags.Output.Verbose, p.flags.Output.Quiet, p.flags.Output.Timing
	options.Fold = foldFrom[p.flags.Output.Fold]
	options.DiffStat = p.flags.Mode.Diff == "stat"
	terminal := p.onTerminal()
	if terminal {
		options.Source, options.Width = withSource, terminalWidth(p.app.out)
	}
	options.Color = p.flags.Output.Color == "always" || p.flags.Output.Color == "auto" && events.WantColor(terminal, p.app.getenv)
	return events.NewText(out, options)
}

// onTerminal reports whether standard output is a terminal.
func (p *printer) onTerminal() bool {
	f, ok := fileOf(p.app.out).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// foldFrom is from how many hosts on outcomes are folded.
var foldFrom = map[string]int{"auto": 4, "always": 1, "never": 0}

// answers returns reporters for queries of hosts: they print answers on standard output, and errors on standard error.
func (p *printer) answers(r *playbooks.Runner, trust func(hosts []string) string) []events.Reporter {
	if p.json() {
		return []events.Reporter{p.reporter(r, events.TextOptions{})}
	}
	problems := events.NewText(p.app.err, events.TextOptions{AdHoc: true, Trust: trust})
	return []events.Reporter{events.NewAnswers(p.app.out), events.Problems{Reporter: problems}}
}

// tellProblems has a command that prints answers, and not events, report on standard error
// which hosts have none.
func (p *printer) tellProblems(r *playbooks.Runner) {
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, r.Tally, events.NewText(p.app.err, events.TextOptions{}))
}

// status is the exit status that a summary amounts to, or nil for 0.
func (p *printer) status(s events.Summary) error {
	if s.Interrupted {
		return exitStatus(interruptedStatus)
	}
	return statusOf(s.ExitStatus(p.flags.Output.DetailedExitCode))
}

// statusOf is an exit status as an error, or nil for 0.
func statusOf(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A printer prints what commands have to say, in the form that its flags ask for.
type printer struct {
	app              *app
	format           string // text, json or dsc-json
	color            string
	verbose          int
	timing           bool
	detailedExitCode bool
}

func (p *printer) register(set *pflag.FlagSet) {
	set.StringVarP(&p.format, "output", "o", "text", "text, json: one event per line, or dsc-json: what dsc prints of a configuration, one line per host")
	set.StringVar(&p.color, "color", "auto", "auto, always or never")
	set.CountVarP(&p.verbose, "verbose", "v", "also show what is stable or skipped")
	set.BoolVar(&p.timing, "timing", false, "say of each host how long connecting, starting, compiling and applying took")
	set.BoolVar(&p.detailedExitCode, "detailed-exitcode", false, "add 8 to the exit status if anything changed or would change")
}

func (p *printer) validate() error {
	switch {
	case p.format != "text" && p.format != "json" && p.format != "dsc-json":
		return fmt.Errorf("--output %q: there are text, json and dsc-json", p.format)
	case p.color != "auto" && p.color != "always" && p.color != "never":
		return fmt.Errorf("--color %q: there are auto, always and never", p.color)
	}
	return nil
}

// forRuns reports --output dsc-json for a command that is no run.
func (p *printer) forRuns(cmd *cobra.Command) error {
	if p.format == "dsc-json" && cmd.HasParent() {
		return fmt.Errorf("--output dsc-json is for runs; %s cannot print that", cmd.Name())
	}
	return nil
}

// textOnly reports --output json for a command that has only text to print.
func (p *printer) textOnly(command string) error {
	if p.format != "text" {
		return fmt.Errorf("--output %s is for runs and facts; %s prints text", p.format, command)
	}
	return nil
}

func (p *printer) json() bool { return p.format == "json" }

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
	if p.format != "dsc-json" {
		options.Diff = r.Options.Diff
		return p.replayer(options)
	}
	documents := events.NewDSC(p.app.out)
	for _, play := range r.Plays {
		if play.Configuration != nil {
			documents.Add(play.Name, play.Configuration)
		}
	}
	return documents
}

// replayer is a reporter for events that need not be those of a run under way.
func (p *printer) replayer(options events.TextOptions) events.Reporter {
	if p.json() {
		return events.NewJSON(p.app.out)
	}
	options.Verbose, options.Timing = p.verbose, p.timing
	terminal := false
	if f, ok := fileOf(p.app.out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		terminal = true
		options.Width, _, _ = term.GetSize(int(f.Fd())) // 0 if it does not say
	}
	options.Color = p.color == "always" || p.color == "auto" && events.WantColor(terminal, p.app.getenv)
	return events.NewText(p.app.out, options)
}

// answers prints what hosts are asked for: the answers on standard output, and what is
// wrong on standard error.
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
	return statusOf(s.ExitStatus(p.detailedExitCode))
}

// statusOf is an exit status as an error, or nil for 0.
func statusOf(status int) error {
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	format           string // text, json or dsc-json; of validate also github and gitlab
	color            string
	diff             *diffFlag
	verbose          int
	quiet            bool
	fold             string // auto, always or never
	timing           bool
	follow           string // pattern of hosts
	stream           bool   // all hosts of an ad-hoc call
	progress         string
	detailedExitCode bool
	reports          reportFlags
}

func (p *printer) register(set *pflag.FlagSet) {
	set.StringVarP(&p.format, "output", "o", "text", "text, json or dsc-json; json prints an event per line, dsc-json a line per host; validate also has github and gitlab")
	set.StringVar(&p.color, "color", "auto", "colours: auto, always or never")
	set.CountVarP(&p.verbose, "verbose", "v", "also print stable and skipped resources")
	set.BoolVarP(&p.quiet, "quiet", "q", false, "print only failures and totals")
	set.StringVar(&p.fold, "fold", "auto", "print equal results of several hosts once, at the end of a batch: auto (from 4 hosts), always or never")
	set.BoolVar(&p.timing, "timing", false, "print how long each host took to connect, start, compile and apply")
	set.StringVar(&p.follow, "follow", "", "print the output of commands on these `hosts` (a name or a pattern) as it arrives, with the host before each line")
	set.BoolVar(&p.stream, "stream", false, "print the output of commands on all hosts as it arrives, with the host before each line")
	set.StringVar(&p.progress, "progress", "auto", "progress of hosts: live (at the bottom of the terminal), plain (a line on standard error every 30s), none, or auto (live on a terminal, plain otherwise)")
	set.BoolVar(&p.detailedExitCode, "detailed-exitcode", false, "add 8 to the exit status if anything changed")
	p.reports.register(set)
}

func (p *printer) validate() error {
	switch {
	case !slices.Contains([]string{"text", "json", "dsc-json", "github", "gitlab"}, p.format):
		return fmt.Errorf("--output %q: use text, json or dsc-json; with validate also github or gitlab", p.format)
	case !slices.Contains(progressModes, p.progress):
		return fmt.Errorf("--progress %q: use auto, live, plain or none", p.progress)
	case p.color != "auto" && p.color != "always" && p.color != "never":
		return fmt.Errorf("--color %q: use auto, always or never", p.color)
	case p.fold != "auto" && p.fold != "always" && p.fold != "never":
		return fmt.Errorf("--fold %q: use auto, always or never", p.fold)
	case p.follow != "" && p.stream:
		return errors.New("--follow and --stream exclude each other: remove one of them")
	case (p.follow != "" || p.stream) && p.format == "dsc-json":
		return errors.New("--output dsc-json cannot contain the output of commands; use --follow and --stream with text or json")
	case p.quiet && p.verbose > 0:
		return errors.New("-q and -v exclude each other: remove one of them")
	}
	return nil
}

// forRuns reports an --output that a command does not have.
func (p *printer) forRuns(cmd *cobra.Command) error {
	if (p.format == "github" || p.format == "gitlab") && cmd.Name() != "validate" {
		return fmt.Errorf("--output %s is for validate; for a run use --report FILE.md or --junit FILE", p.format)
	}
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
		options.Diff = *p.diff != ""
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

// replayer is a reporter for events that need not be those of a run under way. It prints to out, which
// leads to standard output.
func (p *printer) replayer(out io.Writer, options events.TextOptions) events.Reporter {
	if p.json() {
		return events.NewJSON(out)
	}
	options.Verbose, options.Quiet, options.Timing = p.verbose, p.quiet, p.timing
	options.Fold = foldFrom[p.fold]
	options.DiffStat = *p.diff == "stat"
	terminal := p.onTerminal()
	if terminal {
		options.Source, options.Width = withSource, terminalWidth(p.app.out)
	}
	options.Color = p.color == "always" || p.color == "auto" && events.WantColor(terminal, p.app.getenv)
	return events.NewText(out, options)
}

// onTerminal reports whether standard output is a terminal.
func (p *printer) onTerminal() bool {
	f, ok := fileOf(p.app.out).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// foldFrom is from how many hosts on outcomes are folded.
var foldFrom = map[string]int{"auto": 4, "always": 1, "never": 0}

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

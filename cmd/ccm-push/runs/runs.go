package runs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func runsCommand(a *app.App, p *output.Printer) *cobra.Command {
	var newest int
	c := &cobra.Command{
		Use:   "runs",
		Short: "list recorded runs, newest first",
		Long: `Each run is recorded in a folder below $XDG_STATE_HOME/ccm-push/runs (default
~/.local/state/ccm-push/runs): the command, the user, the hosts and all events. The record has no
values of -e, no passwords and no sensitive values. With --no-record, ccm-push does not record a
run.

RUN is one of these: the id of a run, four or more characters of the beginning or end of the id, or
the word last. --limit @RUN:STATE selects the hosts that have this result in the run. STATE is one
of these words:
` + strings.Join(record.States, ", ") + ".",
		Example: `  ccm-push runs
  ccm-push runs --newest 100
  ccm-push runs show last
  ccm-push runs show last --host web1
  ccm-push runs diff 7k2m last
  ccm-push --limit @last:failed site.yaml
  ccm-push resume`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case newest < 0:
				return errors.New("--newest needs a number of runs; 0 lists all")
			case !cmd.Flags().Changed("newest") && p.OnTerminal() && !p.JSON():
				newest = runsOnScreen
			}
			return printRuns(a, p, newest)
		},
	}
	c.Flags().IntVar(&newest, "newest", 0, "maximum number of `runs` to list; 0 lists all")
	c.Flags().Lookup("newest").DefValue = fmt.Sprintf("%d on a terminal, else all", runsOnScreen)
	c.AddCommand(runsShowCommand(a, p), runsDiffCommand(a, p), runsReportCommand(a, p), runsPruneCommand(a, p))
	return c
}

// A runLine is a run as --output json lists it.
type runLine struct {
	record.Header
	Outcome record.Outcome `json:"outcome"`
	Ended   *time.Time     `json:"ended,omitempty"`
	Totals  events.Totals  `json:"totals"`
}

// runsOnScreen are so many that the newest, which come first, do not leave a screen at its top.
const runsOnScreen = 20

func printRuns(a *app.App, p *output.Printer, newest int) error {
	store, err := a.Records()
	if err != nil {
		return err
	}
	runs, err := store.List()
	older := 0
	if newest > 0 && len(runs) > newest {
		runs, older = runs[:newest], len(runs)-newest
	}
	var lines []runLine
	for _, r := range runs {
		line := runLine{Header: r.Header, Outcome: r.Outcome()}
		line.Flags, line.Plays = nil, nil
		if r.End != nil {
			line.Ended = &r.End.Ended
		}
		var totalsErr error
		if line.Totals, totalsErr = r.Totals(); totalsErr != nil {
			a.WarnOnce(fmt.Sprintf("run %s is listed without its totals: %v", r.Run, totalsErr))
		}
		lines = append(lines, line)
	}
	if p.JSON() {
		return errors.Join(output.PrintJSON(p, lines...), err)
	}
	if len(lines) == 0 && err == nil {
		return p.Print("no run is recorded in " + events.Line(store.Folder) + "\n")
	}
	err = errors.Join(printRunTable(p, lines), err)
	if older > 0 {
		err = errors.Join(err, p.Print(fmt.Sprintf("… %d older (all: ccm-push runs --newest 0)\n", older)))
	}
	return err
}

func printRunTable(p *output.Printer, lines []runLine) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tWHEN\tWHO\tWHAT\tOUTCOME")
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Run, l.Started.Local().Format("2006-01-02 15:04:05"),
			events.Line(l.User+"@"+l.Header.Host), events.Line(app.WhatOf(l.Header)), outcomeText(l))
	}
	table.Flush()
	return p.Print(b.String())
}

// outcomeText is "failed: 3 hosts, 1 failed; 5 resources changed".
func outcomeText(l runLine) string {
	h := l.Totals.Hosts
	parts := []string{strconv.Itoa(h.Sum()+h.NotStarted) + " hosts"}
	for _, count := range []struct {
		n    int
		what string
	}{{h.Failed, "failed"}, {h.Unreachable, "unreachable"}, {h.Interrupted, "interrupted"}, {h.Incomplete, "incomplete"}, {h.NotStarted, "not started"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if h.Sum()+h.NotStarted == 1 {
		parts[0] = "1 host"
	}
	changed := "changed"
	if l.Check {
		changed = "would change"
	}
	r := l.Totals.Resources
	if r.Drift > 0 { // of r.Changed
		changed += fmt.Sprintf(" (%d drift)", r.Drift)
	}
	return fmt.Sprintf("%s: %s; %d %s", l.Outcome, strings.Join(parts, ", "), r.Changed+r.FailedChanged, changed)
}

func runsShowCommand(a *app.App, p *output.Printer) *cobra.Command {
	var host string
	c := &cobra.Command{
		Use: "show RUN",
		Example: `  ccm-push runs show last
  ccm-push runs show last --host web1`,
		ValidArgsFunction: arguments.CompleteRun(a, 1),
		Short:             "print the output of a recorded run again",
		Long: `ccm-push runs show prints the output of a recorded run again. If you do not pass -v, --diff or
--timing, the command uses these flags as in the recorded run. If the run has several plays, the
command also prints a table with the result of each host in each play. With --output json, the
command prints the events of the run.`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("host") && host == "" {
				return errors.New("--host is empty")
			}
			if len(args) > 1 {
				return fmt.Errorf("runs show takes one RUN, but got %d arguments", len(args))
			}
			return showRun(a, p, cmd, args[0], host)
		},
	}
	c.Flags().StringVar(&host, "host", "", "print only this `host`")
	return c
}

// showRun prints the events of a recorded run.
func showRun(a *app.App, p *output.Printer, cmd *cobra.Command, name, host string) error {
	if p.Flags.Output.Format == "dsc-json" {
		return errors.New("--output dsc-json is for runs; runs show prints text or events")
	}
	r, err := a.ShownRun(name)
	if err != nil {
		return err
	}
	if host != "" && !r.Selected(host) {
		return fmt.Errorf("run %s was not about a host %q", r.Run, host)
	}
	reporter, _, err := follower(p, cmd, r.Header, -1)
	if err != nil {
		return err
	}
	table := record.NewPlayTable(r.Plays)
	for e, err := range r.EventsOf(host) {
		if err != nil {
			return err
		}
		table.Report(e)
		reporter.Report(e)
	}
	if len(r.Plays) < 2 || p.Flags.Output.Format != "text" || p.Flags.Output.Quiet {
		return nil
	}
	if host != "" {
		table.Hosts = []string{host}
	}
	return p.Print("\n" + playTableText(table))
}

// playTableText returns a line for all hosts that ended the same plays in the same way. It omits hosts without work.
func playTableText(t *record.PlayTable) string {
	const columns, most = 60, 30 // width of host names; maximum number of lines
	words := map[events.State]string{record.NotMeant: "-", record.Begun: "begun", events.StateNotStarted: "not started"}
	cells := func(host string) string {
		var b strings.Builder
		for _, end := range t.Ends[host] {
			b.WriteString("\t" + cmp.Or(words[end], string(end)))
		}
		return b.String()
	}
	hosts := map[string][]string{}
	var order []string
	for _, host := range t.Hosts {
		if !slices.ContainsFunc(t.Ends[host], func(end events.State) bool { return end != record.NotMeant }) {
			continue
		}
		row := cells(host)
		if hosts[row] == nil {
			order = append(order, row)
		}
		hosts[row] = append(hosts[row], host)
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "HOSTS")
	for _, play := range t.Plays {
		fmt.Fprint(table, "\t", app.ShortWhat(play.Name))
	}
	fmt.Fprintln(table)
	for i, row := range order {
		if i == most {
			fmt.Fprintf(table, "and %d more lines; --host HOST prints the one of a host\n", len(order)-most)
			break
		}
		names, rest := events.Fold(hosts[row], columns)
		if names = events.Line(names); rest > 0 {
			names += fmt.Sprintf(" and %d more", rest)
		}
		if n := len(hosts[row]); n > 1 {
			names += fmt.Sprintf(" (%d)", n)
		}
		fmt.Fprintln(table, names+row)
	}
	table.Flush()
	return b.String()
}

func runsDiffCommand(a *app.App, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:               "diff A B",
		Example:           `  ccm-push runs diff 7k2m last`,
		ValidArgsFunction: arguments.CompleteRun(a, 2),
		Short:             "print hosts and resources with different results in two recorded runs",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("runs diff takes two runs, but got %d arguments", len(args))
			}
			return arguments.AtLeast(2)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return diffRuns(a, p, args[0], args[1]) },
	}
}

func diffRuns(a *app.App, p *output.Printer, nameA, nameB string) error {
	store, err := a.Records()
	if err != nil {
		return err
	}
	runA, errA := store.Find(nameA)
	runB, errB := store.Find(nameB)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	all, err := record.Diff(runA, runB)
	if err != nil {
		return err
	}
	if p.JSON() {
		return output.PrintJSON(p, all...)
	}
	return p.Print(diffText(all))
}

// diffText returns a line per difference; a difference that several hosts share is printed once, after their names.
func diffText(all []record.Difference) string {
	if len(all) == 0 {
		return "no difference\n"
	}
	hosts := map[record.Difference][]string{}
	var order []record.Difference
	for _, d := range all {
		host := d.Host
		d.Host = ""
		if hosts[d] == nil {
			order = append(order, d)
		}
		hosts[d] = append(hosts[d], host)
	}
	slices.SortStableFunc(order, func(x, y record.Difference) int { return len(hosts[y]) - len(hosts[x]) })
	var b strings.Builder
	for _, d := range order {
		pattern, rest := events.Fold(hosts[d], 200)
		if rest > 0 {
			pattern += fmt.Sprintf(" and %d more", rest)
		}
		what := "host"
		if d.Resource != "" {
			what = d.Resource
		}
		fmt.Fprintf(&b, "%s  %s: %s -> %s\n", events.Line(pattern), events.Line(what), endText(d.A), endText(d.B))
	}
	return b.String()
}

func endText(end string) string {
	if end == "" {
		return "(not there)"
	}
	return events.Line(end)
}

func runsPruneCommand(a *app.App, p *output.Printer) *cobra.Command {
	days := int(record.DefaultLimits.Age.Hours() / 24)
	megabytes := record.DefaultLimits.Bytes >> 20
	c := &cobra.Command{
		Use:   "prune",
		Short: "remove recorded runs beyond limits of age and size",
		Long: `ccm-push runs prune removes old and damaged records of runs. --days is the maximum age of a run, and
--mib the maximum size of all runs together. The command keeps runs in progress. With --check, it
only prints the records that it would remove. Once a day, ccm-push also removes old records by
itself, with the default limits.`,
		Example: `  ccm-push runs prune --check
  ccm-push runs prune --days 30 --mib 500`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 0 || megabytes < 0 {
				return errors.New("--days and --mib: at least 0; 0 disables the limit")
			}
			store, err := a.Records()
			if err != nil {
				return err
			}
			dry := cmd.Flag("check").Value.String() == "true"
			limits := record.Limits{Age: time.Duration(days) * 24 * time.Hour, Bytes: megabytes << 20, Damaged: true}
			gone, err := store.Prune(limits, time.Now(), dry)
			return errors.Join(printPruned(p, gone, dry), err)
		},
	}
	c.Flags().IntVar(&days, "days", days, "maximum age of a run in days; 0 disables the limit")
	c.Flags().Int64Var(&megabytes, "mib", megabytes, "maximum size of all runs in MiB; 0 disables the limit")
	return c
}

func printPruned(p *output.Printer, gone []record.Pruned, dry bool) error {
	if err := p.TextOnly("runs prune"); err != nil {
		return err
	}
	word := "removed"
	if dry {
		word = "would remove"
	}
	var b strings.Builder
	var bytes int64
	for _, r := range gone {
		what := events.Line(r.What)
		if what == "" {
			what = "(a damaged record)"
		}
		fmt.Fprintf(&b, "%s %s  %s\n", word, r.Run, what)
		bytes += r.Bytes
	}
	fmt.Fprintf(&b, "%s: %d runs, %d KiB\n", word, len(gone), (bytes+1023)>>10)
	return p.Print(b.String())
}

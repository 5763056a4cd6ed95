package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport"
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
	page := &footprintPage{clean: remove, removes: remove && !a.flags.check}
	var printErr error
	r.Footprints(ctx, hosts, page.removes, func(f playbooks.HostFootprint) {
		if ctx.Err() != nil {
			return
		}
		if f.Err != nil {
			r.Events.Report(f.Err)
		}
		printErr = errors.Join(printErr, a.footprint(page, f))
	})
	if a.flags.output == "text" {
		printErr = errors.Join(printErr, a.print(page.text()))
	}
	if printErr != nil {
		return printErr
	}
	return a.footprintStatus(page, r.Tally.Summary(ctx.Err() != nil))
}

func (a *app) footprintStatus(page *footprintPage, s events.Summary) error {
	status := s.ExitStatus(false)
	if page.stuck && status&failedStatus == 0 {
		status += failedStatus
	}
	if page.found && page.clean && a.flags.detailedExitCode {
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

const failedStatus = 2

// footprint takes the answer of a host, or prints it at once as JSON.
func (a *app) footprint(page *footprintPage, f playbooks.HostFootprint) error {
	for _, u := range f.Users {
		page.add(f.Host, u)
		if a.flags.output != "json" {
			continue
		}
		line, err := events.Encode(footprintJSON(page, f.Host, u))
		if err := errors.Join(err, a.print(string(line)+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// footprintJSON is a line of --output json.
func footprintJSON(page *footprintPage, host string, f transport.Footprint) map[string]any {
	files := []map[string]any{}
	for _, t := range f.Traces {
		files = append(files, map[string]any{
			"path": t.Path, "mode": t.Mode.String(), "size": t.Size, "owner": t.Owner, "modified": t.Modified.UTC().Format(time.RFC3339),
		})
	}
	line := map[string]any{"host": host, "user": f.User, "files": files}
	if page.clean {
		line["check"], line["removed"] = !page.removes, page.removes && len(f.Held) == 0 && len(f.Left) == 0
	}
	if len(f.Held) > 0 {
		line["held"] = f.Held
	}
	if len(f.Left) > 0 {
		line["left"] = f.Left
	}
	if len(f.Skipped) > 0 {
		var skipped []map[string]string
		for _, s := range f.Skipped {
			skipped = append(skipped, map[string]string{"path": s.Path, "reason": skipReason(s)})
		}
		line["skipped"] = skipped
	}
	return line
}

// A footprintPage gathers answers; hosts with equal ones share theirs.
type footprintPage struct {
	clean, removes bool
	found          bool // something
	stuck          bool // something that shall be removed and was not
	groups         []*footprintGroup
}

type footprintGroup struct {
	hosts    []string
	print    transport.Footprint
	from, to []time.Duration // the ages of each trace, among the hosts
}

func (p *footprintPage) add(host string, f transport.Footprint) {
	p.found = p.found || len(f.Traces) > 0
	p.stuck = p.stuck || p.removes && len(f.Held)+len(f.Left) > 0
	for _, g := range p.groups {
		if sameTraces(g.print, f) {
			g.add(host, f)
			return
		}
	}
	g := &footprintGroup{print: f, from: make([]time.Duration, len(f.Traces)), to: make([]time.Duration, len(f.Traces))}
	for i, t := range f.Traces {
		g.from[i], g.to[i] = f.Now.Sub(t.Modified), f.Now.Sub(t.Modified)
	}
	g.hosts = []string{host}
	p.groups = append(p.groups, g)
}

func (g *footprintGroup) add(host string, f transport.Footprint) {
	g.hosts = append(g.hosts, host)
	for i, t := range f.Traces {
		age := f.Now.Sub(t.Modified)
		g.from[i], g.to[i] = min(g.from[i], age), max(g.to[i], age)
	}
}

// sameTraces reports whether two answers differ in nothing but ages.
func sameTraces(a, b transport.Footprint) bool {
	timeless := func(f transport.Footprint) string {
		text := fmt.Sprintf("%q %q %q %q", f.User, f.Held, f.Skipped, f.Left)
		for _, t := range f.Traces {
			text += fmt.Sprintf(" %q %v %d %q %t", t.Path, t.Mode, t.Size, t.Owner, t.Whole)
		}
		return text
	}
	return timeless(a) == timeless(b)
}

func (p *footprintPage) text() string {
	var b strings.Builder
	for _, g := range p.groups {
		fmt.Fprintf(&b, "%s as %s: %s\n", nodeset.Fold(g.hosts), events.Line(g.print.User), p.verdict(g.print))
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for i, t := range g.print.Traces {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", events.Line(t.Path), sizeText(t), ages(g.from[i], g.to[i]), events.Line(t.Owner))
		}
		table.Flush() // a strings.Builder takes everything
		if p.clean && len(g.print.Held) == 0 {
			b.WriteString(forgotten(g.print.Traces))
		}
		for _, s := range g.print.Skipped {
			fmt.Fprintf(&b, "  %s: left alone, it is %s\n", events.Line(s.Path), skipReason(s))
		}
		for _, path := range g.print.Left {
			fmt.Fprintf(&b, "  %s could not be removed\n", events.Line(path))
		}
	}
	return b.String()
}

// forgotten says what no later run can do once files are gone. Those of users other than
// root have the name of the host before theirs.
func forgotten(traces []transport.Trace) string {
	text := ""
	for _, t := range traces {
		switch name := "." + path.Base(t.Path); {
		case strings.HasSuffix(name, ".reversals.json"):
			text += "  " + events.Line(t.Path) + ": without it, nothing is put back of what was there before resources with reverse\n"
		case strings.HasSuffix(name, ".refreshes.json"):
			text += "  " + events.Line(t.Path) + ": without it, refreshes that are still due are lost\n"
		}
	}
	return text
}

// verdict says what there was, and what has become of it.
func (p *footprintPage) verdict(f transport.Footprint) string {
	if len(f.Traces) == 0 {
		return "nothing"
	}
	files, size := 0, int64(0)
	for _, t := range f.Traces {
		switch {
		case !t.Mode.IsDir():
			files, size = files+1, size+t.Size
		case t.Whole:
			size += t.Size
		}
	}
	what := strconv.Itoa(files) + " files"
	if files == 1 {
		what = "1 file"
	}
	what += ", " + bytesText(size)
	switch {
	case len(f.Held) > 0:
		what += "; locked by " + holderText(f.Held[0])
		if p.removes {
			what += ", so nothing is removed"
		}
	case p.removes && len(f.Left) > 0:
		what += ", not all removed"
	case p.removes:
		what += ", removed"
	case p.clean:
		what += ", would be removed"
	}
	return what
}

func holderText(h transport.Holder) string {
	if h.Holder == "" {
		return "another run"
	}
	return events.Line(h.Holder) + ", run " + events.Line(h.Run)
}

func skipReason(s transport.Skipped) string {
	if s.Reason == "link" {
		return "a link"
	}
	return "no directory of this user"
}

func sizeText(t transport.Trace) string {
	switch {
	case t.Whole:
		return bytesText(t.Size) + " in all"
	case t.Mode.IsDir():
		return "-"
	}
	return bytesText(t.Size)
}

// bytesText is a number of bytes for people, in units of 1024.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func ages(from, to time.Duration) string {
	if ageText(from) == ageText(to) {
		return ageText(from)
	}
	return ageText(from) + "-" + ageText(to)
}

// ageText is how long ago something was, in its largest unit.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

package playbooks

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A Report gathers the answers of hosts; hosts with equal ones share theirs.
type FootprintReport struct {
	Clean   bool // the report lists files to remove
	Removes bool // they are removed; otherwise the report is a prediction
	Found   bool // there was something on a host
	Stuck   bool // a file to remove still exists
	groups  []*footprintGroup
}

type footprintGroup struct {
	hosts    []string
	print    start.Footprint
	from, to []time.Duration // the ages of each trace, among the hosts
}

// Add takes the answer of a host, for one of its users.
func (r *FootprintReport) Add(host string, f start.Footprint) {
	r.Found = r.Found || len(f.Traces) > 0
	r.Stuck = r.Stuck || r.Removes && len(f.Held)+len(f.Left) > 0
	for _, g := range r.groups {
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
	r.groups = append(r.groups, g)
}

func (g *footprintGroup) add(host string, f start.Footprint) {
	g.hosts = append(g.hosts, host)
	for i, t := range f.Traces {
		age := f.Now.Sub(t.Modified)
		g.from[i], g.to[i] = min(g.from[i], age), max(g.to[i], age)
	}
}

// sameTraces reports whether two answers differ in nothing but ages.
func sameTraces(a, b start.Footprint) bool {
	timeless := func(f start.Footprint) string {
		text := fmt.Sprintf("%q %q %q %q %q", f.User, unconfirmedLines(f, nil), f.Held, f.Skipped, f.Left)
		for _, t := range f.Traces {
			text += fmt.Sprintf(" %q %v %d %q %t", t.Path, t.Mode, t.Size, t.Owner, t.Whole)
		}
		return text
	}
	return timeless(a) == timeless(b)
}

// Text shows everything for people, in the order of the first host of each group.
func (r *FootprintReport) Text() string {
	var b strings.Builder
	for _, g := range r.groups {
		fmt.Fprintf(&b, "%s as %s: %s\n", pattern.Fold(g.hosts), printable.Line(g.print.User), r.verdict(g.print))
		for _, line := range unconfirmedLines(g.print, g.hosts) {
			b.WriteString("  " + printable.Line(line) + "\n")
		}
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for i, t := range g.print.Traces {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", printable.Line(t.Path), sizeText(t), ages(g.from[i], g.to[i]), printable.Line(t.Owner))
		}
		table.Flush() // a strings.Builder takes everything
		if r.Clean && len(g.print.Held) == 0 {
			b.WriteString(forgotten(g.print.Traces))
		}
		for _, s := range g.print.Skipped {
			fmt.Fprintf(&b, "  %s: left alone, it is %s\n", printable.Line(s.Path), skipReason(s))
		}
		for _, path := range g.print.Left {
			fmt.Fprintf(&b, "  %s could not be removed\n", printable.Line(path))
		}
	}
	return b.String()
}

// forgotten describes what no later run can do without these files. Files of users other than root have the host's name
// before theirs.
func forgotten(traces []start.Trace) string {
	text := ""
	for _, t := range traces {
		switch name := "." + path.Base(t.Path); {
		case strings.HasSuffix(name, ".reversals.json"):
			text += "  " + printable.Line(t.Path) + ": without it, resources with \"reverse\" cannot restore their earlier state\n"
		case strings.HasSuffix(name, ".history"):
			text += "  " + printable.Line(t.Path) + ": without it, no run that has changed something here can be undone\n"
		case strings.HasSuffix(name, ".reverted"):
			text += "  " + printable.Line(t.Path) + ": without it, the next run cannot report changes that were reverted because they were not confirmed\n"
		case strings.HasSuffix(name, ".results.jsonl"):
			text += "  " + printable.Line(t.Path) + ": without it, results of a run that lost its connection are not reported, and ccm-push resume runs those resources again\n"
		case strings.HasSuffix(name, ".applied.jsonl"):
			text += "  " + printable.Line(t.Path) + ": without it, the next run takes for a change of the manifest what the host has drifted from it\n"
		case strings.HasSuffix(name, ".refreshes.json"):
			text += "  " + printable.Line(t.Path) + ": without it, refreshes that are still due are lost\n"
		}
	}
	return text
}

// verdict describes the files that were found, and their outcome.
func (r *FootprintReport) verdict(f start.Footprint) string {
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
		if len(f.Unconfirmed) > 0 {
			what += "; changes are not confirmed"
		} else {
			what += "; locked by " + holderText(f.Held[0])
		}
		if r.Removes {
			what += ", so nothing is removed"
		}
	case r.Removes && len(f.Left) > 0:
		what += ", not all removed"
	case r.Removes:
		what += ", removed"
	case r.Clean:
		what += ", would be removed"
	}
	return what
}

func holderText(h start.Holder) string {
	if h.Holder == "" {
		return "another run"
	}
	return printable.Line(h.Holder) + ", run " + printable.Line(h.Run)
}

// unconfirmed describes the armed changes that are not confirmed. hosts share them.
func unconfirmed(f start.Footprint, hosts []string) (all []wire.Unconfirmed) {
	for _, s := range f.Unconfirmed {
		u := wire.Unconfirmed{
			Run: s.Run, Holder: s.Holder.Holder, At: s.At, Left: s.Left, LeftMS: max(s.Left, 0).Milliseconds(), Watchdog: wire.WatchdogState(s.Watched),
			Reverting: s.Reverting, Resources: append([]string{}, s.Resources...), More: s.More,
		}
		u.Outlook = u.Ends()
		if s.Left <= 0 && u.Watchdog != wire.WatchdogRuns {
			u.Hint = "to take them back now, run as " + f.User + ": ccm-push '" + pattern.Fold(hosts) + "' exec true"
		}
		all = append(all, u)
	}
	return all
}

// unconfirmedLines is the text of unconfirmed.
func unconfirmedLines(f start.Footprint, hosts []string) (lines []string) {
	for _, u := range unconfirmed(f, hosts) {
		lines = append(lines, u.String())
		if !u.At.IsZero() {
			lines = append(lines, "  armed at "+u.At.Format(time.RFC3339))
		}
		if names := u.Names(); names != "" {
			lines = append(lines, "  resources: "+names)
		}
		if u.Hint != "" {
			lines = append(lines, "  hint: "+u.Hint)
		}
	}
	return lines
}

func skipReason(s start.Skipped) string {
	if s.Reason == "link" {
		return "a link"
	}
	return "no directory of this user"
}

// JSON is the answer of a host, for one of its users, without a newline.
func (r *FootprintReport) JSON(host string, f start.Footprint) ([]byte, error) {
	files := []map[string]any{}
	for _, t := range f.Traces {
		files = append(files, map[string]any{
			"path": t.Path, "mode": t.Mode.String(), "size": t.Size, "owner": t.Owner, "modified": t.Modified.UTC().Format(time.RFC3339),
		})
	}
	line := map[string]any{"host": host, "user": f.User, "files": files}
	if r.Clean {
		line["check"], line["removed"] = !r.Removes, r.Removes && len(f.Held) == 0 && len(f.Left) == 0
	}
	if len(f.Held) > 0 {
		line["held"] = f.Held
	}
	if all := unconfirmed(f, []string{host}); len(all) > 0 {
		line["unconfirmed"] = all
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
	return printable.JSON(line)
}

func sizeText(t start.Trace) string {
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

// ageText returns a duration in its largest unit.
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

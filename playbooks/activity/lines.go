package activity

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// lines returns a snapshot as lines of at most columns: the hosts with the longest steps, and then the totals. A single
// host is shown within the totals. expected is the expected time of the whole run; 0 means unknown.
func (s Snapshot) lines(expected time.Duration, columns, rows int) []string {
	var list []string
	if s.Working > 1 && len(s.Longest) > 1 {
		shown := s.Longest[:max(0, min(len(s.Longest), rows-1))]
		names := 0
		for _, w := range shown {
			names = max(names, columnsOf(clean(w.Host)))
		}
		for _, w := range shown {
			list = append(list, w.line(min(names, columns/3), columns))
		}
	}
	return append(list, cut(s.totals(expected, columns), columns))
}

// totals returns the progress of the run, such as "37/40 done, 2 changed · 1 running, 2 waiting".
func (s Snapshot) totals(expected time.Duration, columns int) string {
	parts := []string{fmt.Sprintf("%d/%d done", s.Done, s.Hosts) + s.outcomes()}
	waiting := max(0, s.Hosts-s.Done-s.Working)
	if s.Watch != nil {
		parts, waiting, expected = []string{s.Watch.text()}, 0, 0
	}
	switch {
	case s.Working == 1 && len(s.Longest) == 1:
		parts = append(parts, s.Longest[0].short(max(10, columns*3/5)))
	case s.Working > 0:
		parts = append(parts, fmt.Sprintf("%d running", s.Working))
	}
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", waiting))
	}
	switch remaining := expected - s.Elapsed; {
	case expected <= 0:
	case remaining >= time.Second:
		parts = append(parts, "about "+span(remaining)+" to go")
	default:
		parts = append(parts, fmt.Sprintf("%s, last time %s", span(s.Elapsed), span(expected)))
	}
	return strings.Join(parts, " · ")
}

// text is "37 watched, 2 drifted, 1 fighting, 3 unwatched".
func (w *Watch) text() string {
	text := fmt.Sprintf("%d watched", w.Watched)
	for _, o := range []struct {
		n    int
		what string
	}{{w.Drifted, "drifted"}, {w.Fighting, "fighting"}, {w.Unwatched, "unwatched"}} {
		if o.n > 0 {
			text += fmt.Sprintf(", %d %s", o.n, o.what)
		}
	}
	return text
}

// outcomes returns the changes and failures, each after a comma.
func (s Snapshot) outcomes() string {
	text := ""
	changed := "changed"
	if s.Check {
		changed = "would change"
	}
	for _, o := range []struct {
		n    int
		what string
	}{{s.Changed, changed}, {s.Failed, "failed"}, {s.Unreachable, "unreachable"}} {
		if o.n > 0 {
			text += fmt.Sprintf(", %d %s", o.n, o.what)
		}
	}
	return text
}

// line returns "  web1  exec#migrate  14s", with the host's name in a column. The step is cut if the line is too long,
// so that the time is visible.
func (w Working) line(names, columns int) string {
	host := cut(clean(w.Host), names)
	host += strings.Repeat(" ", names-columnsOf(host))
	end := "  " + span(w.For)
	start := "  " + host + "  "
	return cut(start+cut(w.at(), max(1, columns-columnsOf(start)-len(end)))+end, columns)
}

// short is "web1 exec#migrate 14s".
func (w Working) short(columns int) string {
	host, end := cut(clean(w.Host), columns/2), " "+span(w.For)
	return host + " " + cut(w.at(), max(1, columns-columnsOf(host)-1-len(end))) + end
}

// at returns the current step of the host.
func (w Working) at() string {
	switch {
	case w.Resource != "" && w.Waits:
		return clean(w.What+"#"+w.Resource) + " (waits for other hosts)"
	case w.Resource != "":
		return clean(w.What + "#" + w.Resource)
	case w.Size > 0:
		const mib = 1 << 20
		return fmt.Sprintf("sending the host program, %.1f of %.1f MiB", float64(w.Sent)/mib, float64(w.Size)/mib)
	}
	return cmp.Or(w.What, "working")
}

// maxName bounds the examined bytes of a name: no terminal is that wide.
const maxName = 2 << 10

// clean is a name that no terminal obeys, or the beginning of a long one.
func clean(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return printable.Line(name)
}

// span is a time in whole seconds: 14s, 2m05s, 1h02m.
func span(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// cut shortens harmless text to so many columns.
func cut(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	used := 0
	for i, r := range text {
		w := columnsOfRune(r)
		if used+w > columns-1 { // the last one is for the mark
			return text[:i] + strings.Repeat("…", min(1, max(0, columns)))
		}
		used += w
	}
	return text
}

// columnsOf returns the number of columns of a text on a terminal.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

// columnsOfRune is 2 for wide characters (Unicode, UAX #11), and 0 for marks that are put
// above or below the one before.
func columnsOfRune(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

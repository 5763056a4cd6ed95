package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page allows no script but its own, and no network.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Parse(strings.Replace(pageText, "SCRIPT-HASH", scriptHash(), 1)))
})

func scriptHash() string {
	sum := sha256.Sum256([]byte(pageScript))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Limits of the page: bytes of one diff, error or output, and of all of them and the sets of hosts as HTML; entries of
// a section.
const (
	maxBlock  = 64 << 10
	maxBlocks = 1 << 20
	maxGroups = 500
	maxDetail = 320 // length of a text within a line
	maxStop   = 1000
)

// A pageView has the data for the template. Its texts have the same words as on a terminal.
type pageView struct {
	Title, Outcome, Foot string
	Style                template.CSS // our own
	Script               template.JS  // our own
	HostCount            int
	Hosts, Resources     []number
	Failures, Sections   []sectionView // before and after the fleet
	Fleet                []hostView
	PlaysNotRun, Stops   []string
	Marks                bool
	Width                int // size of the waterfall, in units of SVG
	Total                string

	left int // bytes that texts may have
}

// A sectionView is groups below a title: as a table, or each with its texts.
type sectionView struct {
	Title  string
	Table  bool
	Groups []groupView
	More   int // number of groups that are not shown
}

// A groupView is a group.
type groupView struct {
	Title, Detail string
	Pattern, Note string
	Short         string // the beginning of a long pattern; "" of others
	Text, Hint    string
	Output        string
	Lines         []lineView
	Open          bool
}

// Parts returns the parts of the pattern between which a line may end.
func (g groupView) Parts() []string { return strings.SplitAfter(g.Pattern, ",") }

// Body reports whether there is more to show than the first line.
func (g groupView) Body() bool {
	return g.Short != "" || g.Text != "" || g.Hint != "" || g.Output != "" || len(g.Lines) > 0
}

// shortPattern returns the begin of a pattern that is too long for a line; "" if it is not.
func shortPattern(pattern string) string {
	const longest, shown = 120, 60
	if len(pattern) <= longest {
		return ""
	}
	if end := strings.LastIndexByte(pattern[:shown], ','); end > 0 {
		return pattern[:end+1] + "…"
	}
	return strings.ToValidUTF8(pattern[:shown], "") + "…"
}

// A lineView is a line of a diff.
type lineView struct{ Class, Text string }

// A hostView is a host in the grid and in the waterfall.
type hostView struct {
	ID                        int
	Name, State, Class, Glyph string
	Counts, Took, Phases      string
	Bars                      []barView
}

// A barView is a phase of a host.
type barView struct {
	Class    string
	X, Width string
}

// HTML writes the run as a page that needs nothing but itself.
func (r *Run) HTML(w io.Writer) error {
	v := &pageView{
		Title: printable.Line(asRecorded(r.title())), Outcome: r.outcomeText(), Foot: printable.Line(asRecorded(r.foot())),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		HostCount: len(r.hosts), Hosts: r.hostNumbers(), Resources: r.resourceNumbers(), Width: waterfallWidth, left: maxBlocks,
	}
	for _, name := range r.summary().PlaysNotRun {
		v.PlaysNotRun = append(v.PlaysNotRun, printable.Line(asRecorded(name)))
	}
	for _, stop := range r.stops {
		v.Stops = append(v.Stops, shorten(printable.Line(asRecorded(stop)), maxStop))
	}
	v.section("Failures", r.failures(), func(one *groupView, g *group) {
		one.Title, one.Text, one.Hint, one.Output = printable.Line(g.cause()), v.block(g.text), v.block(g.hint), v.block(g.output)
		if one.Detail = printable.Line(firstLine(g.text)); one.Detail == one.Text && len(one.Text) <= maxDetail {
			one.Text = "" // the line above has it
		}
	})
	v.Failures, v.Sections = v.Sections, nil
	v.section("Changes", r.changes(), nil)
	v.section("Distinct "+r.shownWord()+"s", r.diffs(), func(one *groupView, g *group) { one.Lines = diffLines(v.block(g.shown())) })
	v.section("Warnings", r.groups(func(o *outcome) string { return o.notes }), func(one *groupView, g *group) { one.Text = v.block(g.notes) })
	v.fleet(r)
	return page().Execute(w, v)
}

// section adds a section of groups, if there are any; more adds the details of each.
func (v *pageView) section(title string, all []*group, more func(*groupView, *group)) {
	if len(all) == 0 {
		return
	}
	one := sectionView{Title: fmt.Sprintf("%s (%d)", title, len(all)), Table: more == nil, More: max(0, len(all)-maxGroups)}
	for i, g := range all[:min(maxGroups, len(all))] {
		pattern, note := set(g.hosts, min(4000, max(maxText, v.left)))
		v.left -= len(pattern)
		if g.named && len(g.hosts) > 1 {
			v.Marks = true
		}
		entry := groupView{Title: printable.Line(g.what), Detail: printable.Line(g.detail), Pattern: pattern, Note: note, Short: shortPattern(pattern), Open: i < 3}
		if more != nil {
			more(&entry, g)
		}
		entry.Detail = shorten(entry.Detail, maxDetail)
		one.Groups = append(one.Groups, entry)
	}
	v.Sections = append(v.Sections, one)
}

// block is a text of several lines, as far as there is room.
func (v *pageView) block(text string) string {
	text = printable.Block(strings.TrimSuffix(text, "\n"))
	if room := max(0, min(maxBlock, v.left)); len(text) > room {
		rest := len(text) - room
		text = strings.ToValidUTF8(text[:room], "") + fmt.Sprintf("\n… %d more bytes: ccm-push runs show", rest)
	}
	v.left -= len(template.HTMLEscapeString(text))
	return text
}

func diffLines(text string) []lineView {
	var all []lineView
	for line := range strings.SplitSeq(text, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			class = "file"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		case strings.HasPrefix(line, "@@"):
			class = "at"
		}
		if n := len(all); n > 0 && all[n-1].Class == class {
			all[n-1].Text += line + "\n"
			continue
		}
		all = append(all, lineView{class, line + "\n"})
	}
	return all
}

// waterfallWidth is the width of the whole run.
const waterfallWidth = 1000

// fleet is each host with its phases.
func (v *pageView) fleet(r *Run) {
	total := time.Millisecond
	for _, h := range r.hosts {
		if h.finished {
			total = max(total, h.done.Time.Sub(r.began), h.done.Duration)
		}
	}
	v.Total = short(total)
	for i, h := range r.hosts {
		one := hostView{ID: i, Name: printable.Line(asRecorded(h.name)), State: h.stateOf()}
		one.Class, one.Glyph = h.look()
		if h.finished {
			one.Took, one.Counts = short(h.done.Duration), r.countsText(h)
			one.Bars = h.bars(r.began, total)
			p := h.done.Phases
			one.Phases = fmt.Sprintf("connect %s, start %s, compile %s, apply %s", short(p.Connect), short(p.Start), short(p.Compile), short(p.Apply))
		}
		v.Fleet = append(v.Fleet, one)
	}
}

// look is the class of a host and the sign that stands for it.
func (h *host) look() (class, glyph string) {
	switch state := h.stateOf(); state {
	case "ok":
		if h.done.Changed+h.done.Rescued > 0 {
			return "changed", "~"
		}
		return "ok", "·"
	case "failed":
		return "failed", "×"
	case "unreachable":
		return "unreachable", "?"
	case "interrupted":
		return "interrupted", "!"
	default:
		return "waiting", "–"
	}
}

func (r *Run) countsText(h *host) string {
	c := h.done.Counts
	word := "changed"
	if r.start.Check {
		word = "would change"
	}
	return numbersText(numbers(number{c.Changed, word}, number{c.WouldChange, "would change"}, number{c.Stable, "stable"},
		number{c.Failed, "failed"}, number{c.Rescued, "rescued"}, number{c.Skipped, "skipped"}, number{c.NotReached, "not reached"}, number{c.Unknown, unknownOutcomes}))
}

// bars returns the phases of a host, one after the other from its begin. In the remaining time, the host waited for
// others.
func (h *host) bars(began time.Time, total time.Duration) []barView {
	at := max(0, h.done.Time.Sub(began)-h.done.Duration)
	left := h.done.Duration
	p := h.done.Phases
	var all []barView
	bar := func(class string, took time.Duration) {
		took = min(took, left)
		left -= took
		const scale = waterfallWidth
		if width := float64(took) / float64(total) * scale; width >= 0.1 {
			all = append(all, barView{class, fmt.Sprintf("%.1f", float64(at)/float64(total)*scale), fmt.Sprintf("%.1f", width)})
		}
		at += took
	}
	bar("c", p.Connect)
	bar("s", p.Start)
	bar("m", p.Compile)
	bar("a", p.Apply)
	bar("w", left)
	return all
}

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// Limits of the Markdown, which is a comment for people: entries of a list, lines of diffs with their surroundings,
// characters of a text.
const (
	maxEntries   = 8
	maxDiffLines = 26
	maxText      = 160
)

// Markdown writes the run for a comment on a pull request, under 60 lines however many hosts there
// are: totals, failures by cause, changes by resource, diffs.
func (r *Run) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", code(r.title()), r.outcomeText())
	hosts, resources := r.hostNumbers(), r.resourceNumbers()
	fmt.Fprintf(&b, "**%s**: %s; **resources**: %s\n", count(len(r.hosts), "host"), numbersText(hosts), orNone(numbersText(resources)))
	for _, stop := range r.stops {
		fmt.Fprintf(&b, "\n**rollout**: %s\n", code(stop))
	}
	section(&b, "Failures", r.failures(), func(g *group) string {
		text := code(g.cause())
		if message := firstLine(g.text); message != "" {
			text += ": " + code(message)
		}
		if g.hint != "" && (g.kind == failed || g.kind == rescued) {
			text += " (hint: " + code(g.hint) + ")"
		}
		return text
	})
	title := "Changes"
	if r.start.Check {
		title = "Changes that would be made"
	}
	section(&b, title, r.changes(), func(g *group) string {
		text := code(g.what)
		if g.detail != "" {
			text += " " + code(g.detail)
		}
		return text
	})
	r.markdownDiffs(&b)
	text := b.String()
	if strings.Contains(text, "{host}") || strings.Contains(text, "{address}") {
		b.WriteString("\n`{host}` is the name of each host, and `{address}` its address.")
	}
	fmt.Fprintf(&b, "\n%s\n", code(r.foot()))
	_, err := io.WriteString(w, b.String())
	return err
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// section is a list of groups with their hosts.
func section(b *strings.Builder, title string, all []*group, tell func(*group) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", title)
	for _, g := range all[:min(maxEntries, len(all))] {
		pattern, note := set(g.hosts, maxText)
		fmt.Fprintf(b, "- %s on %s%s\n", tell(g), code(pattern), note)
	}
	if rest := all[min(maxEntries, len(all)):]; len(rest) > 0 {
		fmt.Fprintf(b, "- and %d more\n", len(rest))
	}
}

// markdownDiffs is the distinct diffs, folded away, up to a bound.
func (r *Run) markdownDiffs(b *strings.Builder) {
	all := r.diffs()
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n", count(len(all), "distinct "+r.shownWord()))
	left := maxDiffLines
	const around = 4 // lines of a diff in addition to its own
	for i, g := range all {
		lines := strings.Split(strings.TrimSuffix(printable.Block(g.shown()), "\n"), "\n")
		if left < around+min(len(lines), 5)+1 {
			fmt.Fprintf(b, "\nand %s, in `ccm-push runs report %s --format html`\n", count(len(all)-i, "more "+r.shownWord()), printable.Line(r.start.Run))
			break
		}
		left -= around
		cut := 0
		if len(lines) > left-1 {
			cut = len(lines) - (left - 2)
			lines = lines[:left-2]
		}
		left -= len(lines)
		for n, line := range lines {
			lines[n] = shorten(line, maxText)
		}
		pattern, note := set(g.hosts, maxText)
		fence := strings.Repeat("`", max(3, longestRun(strings.Join(lines, "\n"))+1))
		fmt.Fprintf(b, "\n%s on %s%s\n%sdiff\n%s\n%s\n", code(g.what), code(pattern), note, fence, strings.Join(lines, "\n"), fence)
		if cut > 0 {
			left--
			fmt.Fprintf(b, "%s not shown\n", count(cut, "more line"))
		}
	}
	b.WriteString("</details>\n")
}

// shownWord returns the word for [outcome.shown] in this run.
func (r *Run) shownWord() string {
	if r.adHoc() {
		return "output"
	}
	return "diff"
}

// code is a text on one line in which nothing is markup, a mention or a link.
func code(text string) string {
	text = shorten(printable.Line(asRecorded(text)), maxText)
	if strings.TrimSpace(text) == "" {
		return "(none)"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if len(fence) > 1 || strings.HasPrefix(text, " ") {
		text = " " + text + " " // one space on either side does not belong to the text
	}
	return fence + text + fence
}

// longestRun returns the length of the longest sequence of backquotes.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

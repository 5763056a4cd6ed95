package events

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/printable"
)

// A color is the parameters of an SGR sequence (ECMA-48, 8.3.117).
type color string

const (
	plain  color = ""
	bold   color = "1"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

// WantColor reports whether to use colours: NO_COLOR (no-color.org) and TERM=dumb forbid them, CLICOLOR_FORCE
// (bixense.com/clicolors) requests them, and otherwise only a terminal gets them.
func WantColor(terminal bool, getenv func(string) string) bool {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case getenv("TERM") == "dumb":
		return false
	}
	return terminal
}

// A page is the text of one event. Strings get into it through print and block
// only, which make them harmless.
type page struct {
	b      strings.Builder
	colors bool
	adHoc  color // colour of the heading, if the block is the output of an ad-hoc command
	direct bool  // printed directly, never folded
}

// print adds text that stays on its line.
func (p *page) print(c color, texts ...string) {
	p.paint(c, Line(strings.Join(texts, "")))
}

// pad adds text in a column of at least width runes, and a gap.
func (p *page) pad(c color, s string, width int) {
	s = Line(s)
	p.paint(c, s)
	p.b.WriteString(strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))+2))
}

func (p *page) newline() { p.b.WriteByte('\n') }

// block adds the lines of text, each after a prefix and in the colour of the line.
func (p *page) block(prefix, text string, colorOf func(line string) color) {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(Block(text), "\n") {
		p.b.WriteString(prefix)
		p.paint(colorOf(line), line)
		p.newline()
	}
}

// inline ends the line with text, or puts all but its first line below it.
func (p *page) inline(c color, text string) {
	first, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	p.print(c, first)
	p.newline()
	p.block(indent, rest, always(c))
}

// paint adds harmless text in a colour.
func (p *page) paint(c color, s string) {
	if !p.colors || c == plain || s == "" {
		p.b.WriteString(s)
		return
	}
	p.b.WriteString("\x1b[" + string(c) + "m" + s + "\x1b[0m")
}

// indent begins lines that belong to the line above.
const indent = "    "

// always is the colour function of a block in one colour.
func always(c color) func(string) color { return func(string) color { return c } }

// Line makes s harmless as a part of one line, see [printable.Line].
func Line(s string) string { return printable.Line(s) }

// Block is like [Line] for text of several lines, see [printable.Block].
func Block(s string) string { return printable.Block(s) }

// Fold writes hosts as a pattern of at most width runes, see [pattern.Fold]. If they
// do not all fit, it has the first of them, at least one, and rest counts the others.
func Fold(hosts []string, width int) (folded string, rest int) {
	clean := make([]string, 0, len(hosts)) // a node set has no control characters
	for _, h := range hosts {
		clean = append(clean, Line(h))
	}
	hosts = clean
	folded = pattern.Fold(hosts)
	if len(hosts) < 2 || utf8.RuneCountInString(folded) <= width {
		return folded, 0
	}
	// A pattern of more hosts can be a little shorter, so this finds one that fits but
	// perhaps not the longest.
	n := 1 + sort.Search(len(hosts)-1, func(i int) bool {
		return utf8.RuneCountInString(pattern.Fold(hosts[:i+2])) > width
	})
	return pattern.Fold(hosts[:n]), len(hosts) - n
}

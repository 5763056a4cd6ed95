package line

import (
	"slices"
	"strings"
)

// A text is a file taken apart into its lines.
type text struct {
	lines  []textLine
	ending string // of new lines: that of the first line, or \n
	open   bool   // the last line of the file has no end
}

type textLine struct {
	text   string
	ending string // \n or \r\n
}

// parse takes a file apart; String puts it together again.
func parse(file string) *text {
	t := &text{ending: "\n", open: file != "" && !strings.HasSuffix(file, "\n")}
	for line := range strings.Lines(file) {
		t.lines = append(t.lines, split(line))
	}
	if len(t.lines) > 0 && t.lines[0].ending != "" {
		t.ending = t.lines[0].ending
	}
	if t.open {
		last := &t.lines[len(t.lines)-1]
		last.ending = t.ending
		if strings.HasSuffix(last.text, "\r") { // else this byte would become a part of the ending
			last.ending = "\r\n"
		}
	}
	return t
}

func split(line string) textLine {
	for _, ending := range []string{"\r\n", "\n"} {
		if text, ok := strings.CutSuffix(line, ending); ok {
			return textLine{text, ending}
		}
	}
	return textLine{text: line}
}

// String is the file. It ends without a line end if the original did.
func (t *text) String() string {
	var b strings.Builder
	for i, line := range t.lines {
		b.WriteString(line.text)
		// An empty line at the end would be none without its end.
		if i < len(t.lines)-1 || !t.open || line.text == "" {
			b.WriteString(line.ending)
		}
	}
	return b.String()
}

// insert puts new lines before the line i.
func (t *text) insert(i int, lines ...string) {
	added := make([]textLine, len(lines))
	for k, line := range lines {
		added[k] = textLine{line, t.ending}
	}
	t.lines = slices.Insert(t.lines, i, added...)
}

// last is the index of the last line with a property, or -1.
func (t *text) last(is func(string) bool) int {
	for i := len(t.lines) - 1; i >= 0; i-- {
		if is(t.lines[i].text) {
			return i
		}
	}
	return -1
}

// all lists the indexes of the lines that are equal to one.
func (t *text) all(line string) []int {
	var at []int
	for i := range t.lines {
		if t.lines[i].text == line {
			at = append(at, i)
		}
	}
	return at
}

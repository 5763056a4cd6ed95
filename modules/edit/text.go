package edit

import (
	"slices"
	"strings"
)

// A Text is a file taken apart into its lines.
type Text struct {
	Lines  []Line
	ending string // of new lines: that of the first line, or \n
	open   bool   // the last line of the file has no end
	marked bool   // the file begins with a byte order mark
}

// A Line is one of a [Text].
type Line struct {
	Text   string
	Ending string // \n or \r\n
}

// Parse takes a file apart; String puts it together again.
func Parse(file string) *Text {
	file, marked := strings.CutPrefix(file, byteOrderMark)
	t := &Text{marked: marked, ending: "\n", open: file != "" && !strings.HasSuffix(file, "\n")}
	for line := range strings.Lines(file) {
		t.Lines = append(t.Lines, split(line))
	}
	if len(t.Lines) > 0 && t.Lines[0].Ending != "" {
		t.ending = t.Lines[0].Ending
	}
	if t.open {
		last := &t.Lines[len(t.Lines)-1]
		last.Ending = t.ending
		if strings.HasSuffix(last.Text, "\r") { // else this byte would become a part of the ending
			last.Ending = "\r\n"
		}
	}
	return t
}

func split(line string) Line {
	for _, ending := range []string{"\r\n", "\n"} {
		if text, ok := strings.CutSuffix(line, ending); ok {
			return Line{text, ending}
		}
	}
	return Line{Text: line}
}

// byteOrderMark begins files of some Windows editors. It is no part of the first line.
const byteOrderMark = "\ufeff"

// String returns the file. It ends without a line end if the original did, and begins with a byte order mark if the original did.
func (t *Text) String() string {
	if t.marked {
		return byteOrderMark + t.Body()
	}
	return t.Body()
}

// SetBody replaces the text of the file after its byte order mark.
func (t *Text) SetBody(text string) {
	marked := t.marked
	*t = *Parse(text)
	t.marked = t.marked || marked
}

// IsCRLF reports whether all lines end in \r\n.
func (t *Text) IsCRLF() bool {
	return len(t.Lines) > 0 && !slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Ending != "\r\n" })
}

// Body returns the text of the file after its byte order mark.
func (t *Text) Body() string {
	var b strings.Builder
	for i, line := range t.Lines {
		b.WriteString(line.Text)
		// An empty line at the end would be none without its end.
		if i < len(t.Lines)-1 || !t.open || line.Text == "" {
			b.WriteString(line.Ending)
		}
	}
	return b.String()
}

// Insert puts new lines before the line i.
func (t *Text) Insert(i int, lines ...string) { t.Replace(i, i, lines...) }

// Replace puts new lines in the place of those from the line i to before the line end.
func (t *Text) Replace(i, end int, lines ...string) {
	all := append([]Line(nil), t.Lines[:i]...)
	for _, line := range lines {
		all = append(all, Line{line, t.ending})
	}
	t.Lines = append(all, t.Lines[end:]...)
}

// Last is the index of the last line with a property, or -1.
func (t *Text) Last(is func(string) bool) int {
	for i := len(t.Lines) - 1; i >= 0; i-- {
		if is(t.Lines[i].Text) {
			return i
		}
	}
	return -1
}

// All lists the indexes of the lines that are equal to one.
func (t *Text) All(line string) []int {
	var at []int
	for i := range t.Lines {
		if t.Lines[i].Text == line {
			at = append(at, i)
		}
	}
	return at
}

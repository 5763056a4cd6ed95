package edit

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Text is a file taken apart into its lines.
type Text struct {
	Lines    []Line
	open     bool // the last line of the file has no end
	marked   bool // the file begins with a byte order mark
	lineFeed bool // see ParseLineFeed
}

// A Line is one of a [Text].
type Line struct {
	Text   string
	Ending string // \n or \r\n
}

// Parse splits a file into lines; String joins them again.
func Parse(file string) *Text { return parse(file, "\r\n", "\n") }

// ParseLineFeed splits a file of a program to which \r is a part of the line, and which needs a line end after the last
// line: an edit adds that.
func ParseLineFeed(file string) *Text {
	t := parse(file, "\n")
	t.lineFeed = true
	return t
}

func parse(file string, endings ...string) *Text {
	file, marked := strings.CutPrefix(file, byteOrderMark)
	t := &Text{marked: marked, open: file != "" && !strings.HasSuffix(file, "\n")}
	for line := range strings.Lines(file) {
		t.Lines = append(t.Lines, split(line, endings))
	}
	if t.open {
		last := &t.Lines[len(t.Lines)-1]
		last.Ending = t.ending(len(t.Lines)-1, len(t.Lines)-1)
		if len(endings) > 1 && strings.HasSuffix(last.Text, "\r") { // otherwise this byte would become part of the line end
			last.Ending = "\r\n"
		}
	}
	return t
}

func split(line string, endings []string) Line {
	for _, ending := range endings {
		if text, ok := strings.CutSuffix(line, ending); ok {
			return Line{text, ending}
		}
	}
	return Line{Text: line}
}

// byteOrderMark begins files of some Windows editors. It is not part of the first line.
const byteOrderMark = "\ufeff"

// MarkRemoved returns the change of a file that loses its byte order mark.
func MarkRemoved(before, after string) []modules.Change {
	if !strings.HasPrefix(before, byteOrderMark) || strings.HasPrefix(after, byteOrderMark) {
		return nil
	}
	return []modules.Change{{Property: "byte order mark", Have: "present", Want: "absent"}}
}

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

// Replace replaces the lines i to end-1 with new lines. These get the line end of the first replaced line, or, if none
// is replaced, of the line above.
func (t *Text) Replace(i, end int, lines ...string) {
	all := append([]Line(nil), t.Lines[:i]...)
	ending := t.ending(i, end)
	for _, line := range lines {
		all = append(all, Line{line, ending})
	}
	t.Lines = append(all, t.Lines[end:]...)
}

// ending returns the line end of lines that replace those from i to before end.
func (t *Text) ending(i, end int) string {
	switch {
	case i < end:
		return t.Lines[i].Ending
	case i > 0:
		return t.Lines[i-1].Ending
	case i < len(t.Lines) && t.Lines[i].Ending != "":
		return t.Lines[i].Ending
	}
	return "\n"
}

// Keep edits the entries of a resource, and then appends the lines of added. It calls become at each entry with the rest
// of the lines: become returns how many of these lines are the entry (0: the first line is not one), and the lines that
// replace it. No lines remove the entry. Keep reports whether it has changed the text.
//
// It is for files of programs that take a byte order mark as text, so that they do not read the first line: if that is
// an entry, the mark is removed.
func (t *Text) Keep(become func(rest []Line) (entry int, lines []string), added func() []string) bool {
	changed := false
	for i := 0; i < len(t.Lines); {
		n, lines := become(t.Lines[i:])
		if n == 0 {
			i++
			continue
		}
		if i == 0 && t.marked {
			t.marked, changed = false, true
		}
		changed = t.exchange(i, n, lines) || changed
		i += len(lines)
	}
	if lines := added(); len(lines) > 0 {
		t.Insert(len(t.Lines), lines...)
		changed = true
	}
	if changed && t.lineFeed {
		t.open = false
	}
	return changed
}

// KeepLine is [Text.Keep] for a resource with one line. It keeps the first entry and removes the others. is reports whether
// a line is an entry, and returns its new text. KeepLine appends want if no line is an entry. An empty want removes all entries.
func (t *Text) KeepLine(want string, is func(line string) (becomes string, ok bool)) bool {
	found := want == ""
	return t.Keep(func(rest []Line) (int, []string) {
		line, ok := is(rest[0].Text)
		switch {
		case !ok:
			return 0, nil
		case found:
			return 1, nil
		}
		found = true
		return 1, []string{line}
	}, func() []string {
		if found {
			return nil
		}
		return []string{want}
	})
}

// exchange puts lines in the place of n others. Each gets the line end of the one in its place.
func (t *Text) exchange(i, n int, lines []string) bool {
	if slices.Equal(texts(t.Lines[i:i+n]), lines) {
		return false
	}
	both := min(n, len(lines))
	for k := range both {
		t.Lines[i+k].Text = lines[k]
	}
	t.Replace(i+both, i+n, lines[both:]...)
	return true
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

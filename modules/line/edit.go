package line

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// An edit is what has been done to a text.
type edit struct {
	action  string // "" if it was right
	changes []modules.Change
}

// edit makes a text as the resource wants it.
func (l *Line) edit(t *text) (edit, error) {
	switch {
	case l.hasBlock():
		return l.editBlock(t)
	case l.Ensure == absent:
		return l.removeLines(t)
	}
	return l.putLine(t)
}

// putLine has the line in the text. It is the line itself that makes a second
// call find nothing to do: either the last match of the expression is the line,
// or the expression does not match the line and the text has it.
func (l *Line) putLine(t *text) (edit, error) {
	re, err := compile("regexp", l.Regexp)
	if err != nil {
		return edit{}, err
	}
	at, there := -1, len(t.all(l.Line)) > 0
	if re != nil && (!there || re.MatchString(l.Line)) {
		at = t.last(re.MatchString)
	}
	switch {
	case at < 0 && there:
		return edit{}, nil
	case at < 0:
		at, err = l.place(t)
		if err != nil {
			return edit{}, err
		}
		t.insert(at, l.Line)
		return edit{"added the line", ensured(absent, present)}, nil
	case t.lines[at].text == l.Line:
		return edit{}, nil
	}
	have := t.lines[at].text
	t.lines[at].text = l.Line
	return edit{"replaced the line", []modules.Change{{Property: "line", Have: shown(have), Want: shown(l.Line)}}}, nil
}

func (l *Line) removeLines(t *text) (edit, error) {
	re, err := compile("regexp", l.Regexp)
	if err != nil {
		return edit{}, err
	}
	before := len(t.lines)
	t.lines = slices.DeleteFunc(t.lines, func(line textLine) bool {
		return l.Line != "" && line.text == l.Line || re != nil && re.MatchString(line.text)
	})
	switch removed := before - len(t.lines); removed {
	case 0:
		return edit{}, nil
	case 1:
		return edit{"removed the line", ensured(present, absent)}, nil
	default:
		return edit{fmt.Sprintf("removed %d lines", removed), ensured(present, absent)}, nil
	}
}

// place is where a new line or block goes: the index of the line that will be
// below it.
func (l *Line) place(t *text) (int, error) {
	property, anchor := "after", l.After
	if l.Before != "" {
		property, anchor = "before", l.Before
	}
	switch anchor {
	case "BOF":
		return 0, nil
	case "", "EOF":
		return len(t.lines), nil
	}
	re, err := compile(property, anchor)
	if err != nil {
		return 0, err
	}
	return anchored(t, re, property == "before"), nil
}

func anchored(t *text, re *regexp.Regexp, before bool) int {
	switch at := t.last(re.MatchString); {
	case at < 0:
		return len(t.lines)
	case before:
		return at
	default:
		return at + 1
	}
}

func ensured(have, want string) []modules.Change {
	return []modules.Change{{Property: "ensure", Have: have, Want: want}}
}

// maxShown is how many bytes of a line a change shows.
const maxShown = 200

func shown(line string) string {
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

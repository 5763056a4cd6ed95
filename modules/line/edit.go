package line

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// edit makes a text as the resource wants it.
func (l *Line) edit(t *edit.Text) (edit.Done, error) {
	switch {
	case l.hasBlock():
		return l.block().Edit(t, l.Ensure == absent)
	case l.Ensure == absent:
		return l.removeLines(t)
	}
	return l.putLine(t)
}

// putLine puts the line into the text. A second call changes nothing: either the last match of the expression is the
// line, or the expression does not match the line and the text has it.
func (l *Line) putLine(t *edit.Text) (edit.Done, error) {
	re, err := edit.Compile("regexp", l.Regexp)
	if err != nil {
		return edit.Done{}, err
	}
	at, there := -1, len(t.All(l.Line)) > 0
	if re != nil && (!there || re.MatchString(l.Line)) {
		at = t.Last(re.MatchString)
	}
	switch {
	case at < 0 && there:
		return edit.Done{}, nil
	case at < 0:
		at, err = l.place().In(t)
		if err != nil {
			return edit.Done{}, err
		}
		t.Insert(at, l.Line)
		return edit.Done{Action: "added the line", Changes: edit.Ensured(absent, present)}, nil
	case t.Lines[at].Text == l.Line:
		return edit.Done{}, nil
	}
	have := t.Lines[at].Text
	t.Lines[at].Text = l.Line
	return edit.Done{Action: "replaced the line", Changes: []modules.Change{{Property: "line", Have: edit.Shown(have), Want: edit.Shown(l.Line)}}}, nil
}

func (l *Line) removeLines(t *edit.Text) (edit.Done, error) {
	re, err := edit.Compile("regexp", l.Regexp)
	if err != nil {
		return edit.Done{}, err
	}
	var kept []edit.Line
	for _, line := range t.Lines {
		if !(l.Line != "" && line.Text == l.Line || re != nil && re.MatchString(line.Text)) {
			kept = append(kept, line)
		}
	}
	removed := len(t.Lines) - len(kept)
	t.Lines = kept
	switch removed {
	case 0:
		return edit.Done{}, nil
	case 1:
		return edit.Done{Action: "removed the line", Changes: edit.Ensured(present, absent)}, nil
	default:
		return edit.Done{Action: fmt.Sprintf("removed %d lines", removed), Changes: edit.Ensured(present, absent)}, nil
	}
}

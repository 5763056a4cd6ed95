package ini

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// An editing is an edit of a text in progress.
type editing struct {
	*Ini
	*edit.Text
	in   []span   // the sections of the name
	have []option // the options of the name in these, before the edit
}

// edit makes a text as the resource wants it.
func (i *Ini) edit(t *edit.Text) (edit.Done, error) {
	e := &editing{Ini: i, Text: t, in: sections(t, i.Section)}
	if i.Option == "" {
		return e.removeSection(), nil
	}
	e.have = options(t, e.in, i.Option)
	if err := whole(t, e.in, e.have, i.edited().Path); err != nil {
		return edit.Done{}, err
	}
	var done edit.Done
	if i.Ensure == absent {
		done = e.remove()
	} else {
		done = e.put()
	}
	if done.Action != "" {
		e.removeEmptied()
	}
	return done, nil
}

// removeEmptied removes the header of a section that occurs again further down, if the edit has left nothing in it.
func (e *editing) removeEmptied() {
	now := sections(e.Text, e.Section)
	for n, s := range slices.Backward(now) {
		emptied := n > 0 && slices.ContainsFunc(e.have, func(o option) bool { return o.at >= e.in[n].first && o.at < e.in[n].end })
		if emptied && !slices.ContainsFunc(e.Lines[s.first:s.end], func(l edit.Line) bool { return !isBlank(l.Text) }) {
			e.Lines = slices.Delete(e.Lines, s.first-1, s.end)
		}
	}
}

// removeSection takes all sections of the name out of a text.
func (e *editing) removeSection() edit.Done {
	for _, s := range slices.Backward(e.in) {
		e.Lines = slices.Delete(e.Lines, s.first-1, ownEnd(e.Text, s))
	}
	if len(e.in) == 0 {
		return edit.Done{}
	}
	return edit.Done{Action: "removed the section", Changes: edit.Ensured(present, absent)}
}

// remove takes the option out of a text.
func (e *editing) remove() edit.Done {
	have := e.have
	given := e.Value != "" || e.Values != nil
	if given && !e.all() {
		have = slices.DeleteFunc(have, func(o option) bool { return !slices.Contains(e.values(), o.value) })
	}
	for _, o := range slices.Backward(have) {
		e.Lines = slices.Delete(e.Lines, o.at, o.at+1)
	}
	if len(have) == 0 {
		return edit.Done{}
	}
	return edit.Done{Action: "removed the option", Changes: []modules.Change{{Property: cmp.Or(e.Option, "option"), Have: shown(have), Want: absent}}}
}

// put edits the option in a text: wanted values replace the existing ones in order, and further ones follow the last.
func (e *editing) put() edit.Done {
	want := e.values()
	is := shown(e.have)
	if !e.all() {
		want = slices.DeleteFunc(slices.Clone(want), func(value string) bool {
			return slices.ContainsFunc(e.have, func(o option) bool { return e.right(o, value) })
		})
		if len(want) == 0 {
			return edit.Done{}
		}
		e.insert(want)
	} else {
		if slices.EqualFunc(e.have, want, e.right) {
			return edit.Done{}
		}
		both := min(len(e.have), len(want))
		for n := range both {
			if !e.right(e.have[n], want[n]) {
				e.Lines[e.have[n].at].Text = e.rewritten(e.have[n], want[n])
			}
		}
		for _, o := range slices.Backward(e.have[both:]) {
			e.Lines = slices.Delete(e.Lines, o.at, o.at+1)
		}
		if both < len(want) {
			e.insert(want[both:])
		}
	}
	action := "changed the option"
	if len(e.have) == 0 {
		action = "added the option"
	}
	now := options(e.Text, sections(e.Text, e.Section), e.Option)
	return edit.Done{Action: action, Changes: []modules.Change{{Property: e.Option, Have: is, Want: shown(now)}}}
}

// right reports whether an option has the value, or has none if the resource wants none.
func (i *Ini) right(o option, value string) bool { return o.bare == i.Bare && o.value == value }

// rewritten is the line of an option with another value.
func (e *editing) rewritten(o option, value string) string {
	name := o.lead[:strings.Index(o.lead, e.Option)+len(e.Option)]
	switch {
	case e.Bare:
		return name
	case o.value == "":
		return name + e.separator() + value
	}
	return strings.TrimRight(o.lead+value+o.trailing, blanks)
}

// insert adds new options after the last one, or after one that is commented out, or at the end of the section, which
// is created if it is missing.
func (e *editing) insert(values []string) {
	separator := e.separator()
	lead := e.Option
	var lines []string
	for _, value := range values {
		text := strings.TrimRight(lead+separator+value, blanks)
		if e.Bare {
			text = lead
		}
		lines = append(lines, text)
	}
	at := len(e.Lines)
	switch {
	case len(e.have) > 0:
		last := e.have[len(e.have)-1]
		indent := last.lead[:len(last.lead)-len(strings.TrimLeft(last.lead, blanks))]
		for n := range lines {
			lines[n] = indent + lines[n]
		}
		at = last.at + 1
	case len(e.in) > 0:
		at = e.place()
	default:
		head := []string{"[" + e.Section + "]"}
		if at > 0 && !isBlank(e.Lines[at-1].Text) {
			head = append([]string{""}, head...)
		}
		lines = append(head, lines...)
	}
	e.Insert(at, lines...)
}

// place is the line of a new option in a section.
func (e *editing) place() int {
	for _, s := range slices.Backward(e.in) {
		for at := s.end - 1; at >= s.first; at-- {
			line := e.Lines[at].Text
			if _, ok := read(strings.TrimLeft(line, blanks+"#;"), e.Option); ok && isComment(line) {
				return at + 1
			}
		}
	}
	return lastOption(e.Text, e.in[len(e.in)-1])
}

// separator is the text between an option and its value.
func (e *editing) separator() string {
	if e.Separator != "" {
		return e.Separator
	}
	for _, s := range append(slices.Clone(e.in), span{0, len(e.Lines)}) {
		for _, line := range e.Lines[s.first:s.end] {
			if _, is := header(line.Text); is || isComment(line.Text) {
				continue
			}
			at := strings.IndexAny(line.Text, "=:")
			if at < 1 {
				continue
			}
			left := line.Text[len(strings.TrimRight(line.Text[:at], blanks)):at]
			right := line.Text[at+1:]
			if isBlank(right) {
				continue
			}
			return left + line.Text[at:at+1] + right[:len(right)-len(strings.TrimLeft(right, blanks))]
		}
	}
	return " = "
}

// shown is an option in a change.
func shown(all []option) string {
	var values []string
	for _, o := range all {
		if o.bare {
			values = append(values, "without a value")
			continue
		}
		values = append(values, edit.Shown(o.value))
	}
	switch len(values) {
	case 0:
		return absent
	case 1:
		return values[0]
	}
	return fmt.Sprintf("%q", values)
}

package ini

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// edit makes a text as the resource wants it.
func (i *Ini) edit(t *edit.Text) (edit.Done, error) {
	in := sections(t, i.Section)
	if i.Option == "" {
		return i.removeSection(t, in), nil
	}
	have := options(t, in, i.Option)
	if err := whole(t, in, have, i.edited().Path); err != nil {
		return edit.Done{}, err
	}
	var done edit.Done
	if i.Ensure == absent {
		done = i.remove(t, have)
	} else {
		done = i.put(t, in, have)
	}
	if done.Action != "" {
		i.removeEmptied(t, in, have)
	}
	return done, nil
}

// removeEmptied removes the header of a section that occurs again further down, if the edit has left nothing in it.
func (i *Ini) removeEmptied(t *edit.Text, before []span, had []option) {
	now := sections(t, i.Section)
	for n, s := range slices.Backward(now) {
		emptied := n > 0 && slices.ContainsFunc(had, func(o option) bool { return o.at >= before[n].first && o.at < before[n].end })
		if emptied && !slices.ContainsFunc(t.Lines[s.first:s.end], func(l edit.Line) bool { return !isBlank(l.Text) }) {
			t.Lines = slices.Delete(t.Lines, s.first-1, s.end)
		}
	}
}

// removeSection takes all sections of the name out of a text.
func (i *Ini) removeSection(t *edit.Text, in []span) edit.Done {
	for _, s := range slices.Backward(in) {
		t.Lines = slices.Delete(t.Lines, s.first-1, ownEnd(t, s))
	}
	if len(in) == 0 {
		return edit.Done{}
	}
	return edit.Done{Action: "removed the section", Changes: edit.Ensured(present, absent)}
}

// remove takes the option out of a text.
func (i *Ini) remove(t *edit.Text, have []option) edit.Done {
	given := i.Value != "" || i.Values != nil
	if given && !i.all() {
		have = slices.DeleteFunc(have, func(o option) bool { return !slices.Contains(i.values(), o.value) })
	}
	for _, o := range slices.Backward(have) {
		t.Lines = slices.Delete(t.Lines, o.at, o.at+1)
	}
	if len(have) == 0 {
		return edit.Done{}
	}
	return edit.Done{Action: "removed the option", Changes: []modules.Change{{Property: cmp.Or(i.Option, "option"), Have: shown(have), Want: absent}}}
}

// put edits the option in a text: wanted values replace the existing ones in order, and further ones follow the last.
func (i *Ini) put(t *edit.Text, in []span, have []option) edit.Done {
	want := i.values()
	is := shown(have)
	if !i.all() {
		want = slices.DeleteFunc(slices.Clone(want), func(value string) bool {
			return slices.ContainsFunc(have, func(o option) bool { return i.right(o, value) })
		})
		if len(want) == 0 {
			return edit.Done{}
		}
		i.insert(t, in, have, want)
	} else {
		if len(have) == len(want) && !slices.ContainsFunc(indexes(have), func(n int) bool { return !i.right(have[n], want[n]) }) {
			return edit.Done{}
		}
		both := min(len(have), len(want))
		for n := range both {
			if !i.right(have[n], want[n]) {
				t.Lines[have[n].at].Text = i.rewritten(t, in, have[n], want[n])
			}
		}
		for _, o := range slices.Backward(have[both:]) {
			t.Lines = slices.Delete(t.Lines, o.at, o.at+1)
		}
		if both < len(want) {
			i.insert(t, in, have, want[both:])
		}
	}
	action := "changed the option"
	if len(have) == 0 {
		action = "added the option"
	}
	now := options(t, sections(t, i.Section), i.Option)
	return edit.Done{Action: action, Changes: []modules.Change{{Property: i.Option, Have: is, Want: shown(now)}}}
}

// right reports whether an option has the value, or has none if the resource wants none.
func (i *Ini) right(o option, value string) bool { return o.bare == i.Bare && o.value == value }

// rewritten is the line of an option with another value.
func (i *Ini) rewritten(t *edit.Text, in []span, o option, value string) string {
	name := o.lead[:strings.Index(o.lead, i.Option)+len(i.Option)]
	switch {
	case i.Bare:
		return name
	case o.value == "":
		return name + i.separator(t, in) + value
	}
	return strings.TrimRight(o.lead+value+o.trailing, blanks)
}

// insert adds new options after the last one, or after one that is commented out, or at the end of the section, which
// is created if it is missing.
func (i *Ini) insert(t *edit.Text, in []span, have []option, values []string) {
	separator := i.separator(t, in)
	lead := i.Option
	var lines []string
	for _, value := range values {
		text := strings.TrimRight(lead+separator+value, blanks)
		if i.Bare {
			text = lead
		}
		lines = append(lines, text)
	}
	at := len(t.Lines)
	switch {
	case len(have) > 0:
		last := have[len(have)-1]
		indent := last.lead[:len(last.lead)-len(strings.TrimLeft(last.lead, blanks))]
		for n := range lines {
			lines[n] = indent + lines[n]
		}
		at = last.at + 1
	case len(in) > 0:
		at = i.place(t, in)
	default:
		head := []string{"[" + i.Section + "]"}
		if at > 0 && !isBlank(t.Lines[at-1].Text) {
			head = append([]string{""}, head...)
		}
		lines = append(head, lines...)
	}
	t.Insert(at, lines...)
}

// place is the line of a new option in a section.
func (i *Ini) place(t *edit.Text, in []span) int {
	for _, s := range slices.Backward(in) {
		for at := s.end - 1; at >= s.first; at-- {
			line := t.Lines[at].Text
			if _, ok := read(strings.TrimLeft(line, blanks+"#;"), i.Option); ok && isComment(line) {
				return at + 1
			}
		}
	}
	return lastOption(t, in[len(in)-1])
}

// separator is the text between an option and its value.
func (i *Ini) separator(t *edit.Text, in []span) string {
	if i.Separator != "" {
		return i.Separator
	}
	for _, s := range append(slices.Clone(in), span{0, len(t.Lines)}) {
		for _, line := range t.Lines[s.first:s.end] {
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

func indexes(have []option) []int {
	all := make([]int, len(have))
	for n := range all {
		all[n] = n
	}
	return all
}

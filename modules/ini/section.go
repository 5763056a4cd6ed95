package ini

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

const blanks = " \t"

// A span is lines of a text from the first to before the end.
type span struct{ first, end int }

// header returns the name of the section that a line begins.
func header(line string) (string, bool) {
	line = strings.Trim(line, blanks)
	name, rest, closed := strings.Cut(strings.TrimPrefix(line, "["), "]")
	if rest = strings.Trim(rest, blanks); !closed || line[0] != '[' || rest != "" && !isComment(rest) {
		return "", false
	}
	name = strings.Trim(name, blanks)
	return name, name != ""
}

func isComment(line string) bool {
	line = strings.TrimLeft(line, blanks)
	return line != "" && strings.ContainsRune("#;", rune(line[0]))
}

func isBlank(line string) bool { return strings.Trim(line, blanks) == "" }

// sections are the bodies of all sections of a name, without their headers. The lines above the first header have the
// name "".
func sections(t *edit.Text, name string) []span {
	var all []span
	is, first := "", 0
	for i, line := range t.Lines {
		next, begins := header(line.Text)
		if !begins {
			continue
		}
		if is == name && (first > 0 || name == "") {
			all = append(all, span{first, i})
		}
		is, first = next, i+1
	}
	if is == name && (first > 0 || name == "") {
		all = append(all, span{first, len(t.Lines)})
	}
	return all
}

// lastOption returns the line after the last option of a section. Comments above the next header belong to the next
// section, and so do comments below a header that is commented out.
func lastOption(t *edit.Text, s span) int {
	end := s.end
	for end > s.first && (isBlank(t.Lines[end-1].Text) || isComment(t.Lines[end-1].Text)) {
		end--
	}
	if s.end < len(t.Lines) {
		return end
	}
	for n := end; n < s.end; n++ {
		if _, is := header(strings.TrimLeft(t.Lines[n].Text, blanks+"#;")); is {
			return end
		}
	}
	for end = s.end; end > s.first && isBlank(t.Lines[end-1].Text); {
		end--
	}
	return end
}

// ownEnd returns the line after the last one to remove with a section: comments of the next section stay.
func ownEnd(t *edit.Text, s span) int {
	for n := lastOption(t, s); n < s.end; n++ {
		if isComment(t.Lines[n].Text) {
			return n
		}
	}
	return s.end
}

// An option is a line that has one.
type option struct {
	at       int
	lead     string // all text before the value, unchanged
	value    string
	trailing string
	bare     bool
}

// read reads the option of a name from a line.
func read(line, name string) (option, bool) {
	body := strings.TrimLeft(line, blanks)
	rest, ok := strings.CutPrefix(body, name)
	if !ok {
		return option{}, false
	}
	after := strings.TrimLeft(rest, blanks)
	if after == "" {
		return option{lead: line[:len(line)-len(rest)], trailing: rest, bare: true}, true
	}
	if after[0] != '=' && after[0] != ':' {
		return option{}, false
	}
	value := strings.TrimLeft(after[1:], blanks)
	o := option{lead: line[:len(line)-len(value)], value: strings.TrimRight(value, blanks)}
	o.trailing = value[len(o.value):]
	return o, true
}

// options are all of a name in a section.
func options(t *edit.Text, in []span, name string) []option {
	var all []option
	for _, s := range in {
		for i := s.first; i < s.end; i++ {
			if o, ok := read(t.Lines[i].Text, name); ok && !isComment(t.Lines[i].Text) {
				o.at = i
				all = append(all, o)
			}
		}
	}
	return all
}

// whole refuses an option whose value continues on the next line: its extent is unclear.
func whole(t *edit.Text, in []span, all []option, file string) error {
	for _, o := range all {
		i := slices.IndexFunc(in, func(s span) bool { return o.at >= s.first && o.at < s.end })
		continued := strings.HasSuffix(o.value, `\`)
		if next := o.at + 1; next < in[i].end && !continued {
			line := t.Lines[next].Text
			indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, blanks)) }
			continued = !isBlank(line) && !isComment(line) && indent(line) > indent(t.Lines[o.at].Text)
		}
		if continued {
			return modules.Refuse("%s:%d: the value continues on the next line, which the type ini cannot read (use a resource of type line or replace)", file, o.at+1)
		}
	}
	return nil
}

package replace

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// edit replaces all matches in a text.
func (r *Replace) edit(t *edit.Text) (edit.Done, error) {
	have := t.Body()
	want, changes, err := r.on(have)
	switch missing := new(missingError); {
	case errors.As(err, &missing):
		return edit.Done{Warning: missing.Error()}, nil
	case err != nil || want == have:
		return edit.Done{}, err
	case strings.IndexByte(want, 0) >= 0:
		return edit.Done{}, modules.Refuse("the replacement has a NUL byte")
	}
	again, _, err := r.on(want)
	if missing := new(missingError); err != nil && !errors.As(err, &missing) {
		return edit.Done{}, err
	}
	if err == nil && again != want {
		return edit.Done{}, modules.Refuse(`"regexp" matches the text of "replace", so each run would replace again (write another expression, or use a line resource)`)
	}
	t.SetBody(want)
	action := "replaced 1 place"
	if n := len(changes); n > 1 {
		action = fmt.Sprintf("replaced %d places", n)
	}
	return edit.Done{Action: action, Changes: changes}, nil
}

// namesCR reports whether the expressions contain the byte \r. Otherwise \r\n is one line end, so that $ matches before
// it.
func (r *Replace) namesCR() bool {
	expressions := r.Regexp + r.After + r.Before
	return strings.Contains(expressions+r.Replace, "\r") || strings.Contains(expressions, `\r`) || strings.Contains(expressions, `\x`) || strings.Contains(expressions, `\0`)
}

// on returns the text with everything replaced, and the changes. A match that is replaced by itself is not reported.
func (r *Replace) on(text string) (string, []modules.Change, error) {
	re, err := compile("regexp", "(?m)", r.Regexp)
	if err != nil {
		return "", nil, err
	}
	parts, err := parse(r.Replace, re)
	if err != nil {
		return "", nil, err
	}
	in := place{text: text}
	if !r.namesCR() {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		in.crlf = len(text) < len(in.text)
	}
	from, to, err := r.between(text)
	if err != nil {
		return "", nil, err
	}
	var all strings.Builder
	var changes []modules.Change
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		if at[0] < from || at[1] > to {
			continue
		}
		was, is := text[at[0]:at[1]], parts.with(text, at)
		all.WriteString(in.until(at[0]))
		ending := in.ending()
		if same := in.until(at[1]); was == is {
			all.WriteString(same)
			continue
		}
		all.WriteString(strings.ReplaceAll(is, "\n", ending))
		changes = append(changes, modules.Change{Property: "text", Have: edit.Shown(was), Want: edit.Shown(is)})
	}
	return all.String() + in.text[in.at:], changes, nil
}

// A place is one in a text, of which the expressions see \r\n as \n.
type place struct {
	text string
	crlf bool // it has a \r\n
	at   int  // in the text
	seen int  // the same place, as the expressions see it
}

// until moves on to a place as the expressions see it, and returns the text before it.
func (p *place) until(seen int) string {
	from := p.at
	for ; p.seen < seen; p.seen++ {
		if p.crlf && strings.HasPrefix(p.text[p.at:], "\r\n") {
			p.at++
		}
		p.at++
	}
	return p.text[from:p.at]
}

// ending returns the line end of the line at the place.
func (p *place) ending() string {
	end := p.at + strings.IndexByte(p.text[p.at:], '\n')
	if end < p.at {
		end = strings.LastIndexByte(p.text[:p.at], '\n')
	}
	if p.crlf && end > 0 && p.text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// A missingError means that after or before matches nothing in a file.
type missingError struct{ property string }

func (e *missingError) Error() string {
	return e.property + " matches nothing in the file, so nothing is replaced"
}

// between returns the part of a text in which matches are replaced. The error is a [missingError] if there is none.
func (r *Replace) between(text string) (from, to int, err error) {
	after, err := compile("after", "(?ms)", r.After)
	if err != nil {
		return 0, 0, err
	}
	before, err := compile("before", "(?ms)", r.Before)
	if err != nil {
		return 0, 0, err
	}
	to = len(text)
	if after != nil {
		at := after.FindStringIndex(text)
		if at == nil {
			return 0, 0, &missingError{"after"}
		}
		from = at[1]
	}
	if before != nil {
		at := before.FindStringIndex(text[from:])
		if at == nil {
			return 0, 0, &missingError{"before"}
		}
		to = from + at[0]
	}
	return from, to, nil
}

// A replacement is literal texts, and groups of an expression between them.
type replacement []part

type part struct {
	text  string
	group int // 0 is none
}

// parse reads a replacement as Python's re does.
func parse(text string, re *regexp.Regexp) (replacement, error) {
	var all replacement
	wrong := func(format string, args ...any) (replacement, error) {
		return nil, &modules.PropertyError{Path: "replace", Msg: fmt.Sprintf(format, args...), Hint: `write \\ for a backslash`}
	}
	for {
		literal, rest, escaped := strings.Cut(text, `\`)
		all = append(all, part{text: literal})
		switch {
		case !escaped:
			return all, nil
		case rest == "":
			return wrong(`it ends with a single backslash`)
		}
		switch c := rest[0]; {
		case c == '\\':
			all = append(all, part{text: `\`})
		case c == 'n':
			all = append(all, part{text: "\n"})
		case c == 't':
			all = append(all, part{text: "\t"})
		case c >= '1' && c <= '9':
			group := int(c - '0')
			if group > re.NumSubexp() {
				return wrong(`the expression has no group \%c`, c)
			}
			all = append(all, part{group: group})
		case c == 'g':
			name, behind, closed := strings.Cut(strings.TrimPrefix(rest[1:], "<"), ">")
			group := re.SubexpIndex(name)
			if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= re.NumSubexp() {
				group = n
			}
			if !closed || !strings.HasPrefix(rest[1:], "<") || group < 1 {
				return wrong(`the expression has no group \g%s`, rest[1:])
			}
			all = append(all, part{group: group})
			text = behind
			continue
		default:
			return wrong(`\%c means nothing`, c)
		}
		text = rest[1:]
	}
}

// with is the replacement for a match at places of a text.
func (r replacement) with(text string, at []int) string {
	var all strings.Builder
	for _, p := range r {
		all.WriteString(p.text)
		if from := at[2*p.group]; p.group > 0 && from >= 0 {
			all.WriteString(text[from:at[2*p.group+1]])
		}
	}
	return all.String()
}

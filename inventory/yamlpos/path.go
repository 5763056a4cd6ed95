package yamlpos

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Path leads from the top of a file to one value of it.
type Path struct {
	Document int // from 0
	Steps    []Step
}

// A Step leads from a map or list to one of its values.
type Step struct {
	Key  string // key in a map
	Item int    // item of a list, from 1; 0: the step is a key
}

// Key returns the path of a value of the map at p.
func (p Path) Key(key string) Path { return p.step(Step{Key: key}) }

// Item returns the path of an item of the list at p; i counts from 0.
func (p Path) Item(i int) Path { return p.step(Step{Item: i + 1}) }

func (p Path) step(s Step) Path {
	return Path{p.Document, append(p.Steps[:len(p.Steps):len(p.Steps)], s)}
}

// String returns text such as users[0].password. Keys with characters other than letters, digits, - and _ are quoted;
// paths in the second document begin with #1. No two paths have the same text.
func (p Path) String() string {
	var b strings.Builder
	if p.Document > 0 {
		fmt.Fprintf(&b, "#%d", p.Document)
	}
	for _, s := range p.Steps {
		switch {
		case s.Item > 0:
			fmt.Fprintf(&b, "[%d]", s.Item-1)
			continue
		case b.Len() > 0:
			b.WriteByte('.')
		}
		if isWord(s.Key) {
			b.WriteString(s.Key)
		} else {
			b.WriteString(strconv.Quote(s.Key))
		}
	}
	return b.String()
}

func isWord(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

var errPath = errors.New(`a path is such as db.password, users[0].key or hosts."web1.example.org"`)

// ParsePath is the inverse of [Path.String]. A key without quotes may contain any characters except . [ ] and ".
func ParsePath(text string) (p Path, err error) {
	rest := text
	if digits, ok := strings.CutPrefix(rest, "#"); ok {
		end := strings.IndexAny(digits, ".[")
		if end < 0 {
			end = len(digits)
		}
		if p.Document, err = pathNumber(digits[:end]); err != nil || p.Document == 0 {
			return Path{}, fmt.Errorf("%q: %w", text, errPath)
		}
		rest = digits[end:]
	}
	for first := p.Document == 0; rest != ""; first = false {
		var s Step
		if !first && rest[0] != '[' {
			if rest[0] != '.' {
				return Path{}, fmt.Errorf("%q: %w", text, errPath)
			}
			rest = rest[1:]
			if rest == "" || rest[0] == '[' {
				return Path{}, fmt.Errorf("%q: %w", text, errPath)
			}
		}
		if s, rest, err = parseStep(rest); err != nil {
			return Path{}, fmt.Errorf("%q: %w", text, err)
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

func parseStep(text string) (s Step, rest string, err error) {
	switch text[0] {
	case '[':
		digits, rest, closed := strings.Cut(text[1:], "]")
		n, err := pathNumber(digits)
		if !closed || err != nil {
			return s, "", errPath
		}
		return Step{Item: n + 1}, rest, nil
	case '"':
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return s, "", errPath
		}
		key, err := strconv.Unquote(quoted)
		return Step{Key: key}, text[len(quoted):], err
	}
	end := strings.IndexAny(text, `.["]`)
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return s, "", errPath
	}
	return Step{Key: text[:end]}, text[end:], nil
}

func pathNumber(digits string) (int, error) {
	n, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(n) != digits || n < 0 || n > maxNodes {
		return 0, errPath
	}
	return n, nil
}

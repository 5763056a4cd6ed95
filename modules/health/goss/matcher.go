package goss

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// A shape is the kind of value that an attribute has.
type shape string

const (
	boolean shape = "a boolean"
	number  shape = "a number"
	text    shape = "a text"
	list    shape = "a list of texts"
	output  shape = "lines of text" // a list of patterns is one that it has all of
	// anything: null, a boolean, a number, a text, a list or a map, as in JSON
	anything shape = "any value"
)

// A Matcher compares a value of the host with the expected one: a bool, float64, string or []string, by the attribute's
// shape, or a value from JSON.
type Matcher interface {
	// Match reports whether the value is as expected.
	Match(value any) bool
	// String describes the expected value, for people.
	String() string
}

type matcher struct {
	match func(any) bool
	text  string
}

func (m matcher) Match(v any) bool { return m.match(v) }
func (m matcher) String() string   { return m.text }

// maxDepth bounds how deep matchers nest.
const maxDepth = 10

func parseMatcher(s shape, expected any) (Matcher, error) { return parse(s, expected, 0) }

func parse(s shape, expected any, depth int) (Matcher, error) {
	if depth > maxDepth {
		return nil, errors.New("matchers nest too deeply")
	}
	switch e := expected.(type) {
	case map[string]any:
		return operator(s, e, depth)
	case []any:
		switch s {
		case output:
			return patterns(e)
		case list, anything:
			return elements(s, e, depth, "contains", false)
		}
		return nil, fmt.Errorf("%s is %s", shown(expected), "a list, and the value is "+string(s))
	}
	return literal(s, expected)
}

// literal expects one value.
func literal(s shape, expected any) (Matcher, error) {
	fits := false
	switch s {
	case anything:
		return scalar(expected)
	case boolean:
		_, fits = expected.(bool)
	case number:
		_, fits = toNumber(expected)
	case output:
		if pattern, ok := expected.(string); ok {
			return patterns([]any{pattern})
		}
	case list:
		if one, ok := toText(expected); ok {
			return matcher{func(v any) bool { return slices.Equal(texts(v), []string{one}) }, shown(expected)}, nil
		}
	default:
		if want, ok := toText(expected); ok {
			return matcher{func(v any) bool { return v == want }, shown(want)}, nil
		}
	}
	if !fits {
		return nil, fmt.Errorf("%s is not %s", shown(expected), s)
	}
	return matcher{func(v any) bool {
		if want, ok := toNumber(expected); ok {
			have, ok := toNumber(v)
			return ok && have == want
		}
		return v == expected
	}, shown(expected)}, nil
}

// scalar expects one value of a document. As in goss, a text is compared with the text of a value, and a number
// with the number in it.
func scalar(expected any) (Matcher, error) {
	same := func(v any) bool { return v == expected }
	want, isNumber := toNumber(expected)
	text, isText := expected.(string)
	switch {
	case isNumber:
		same = func(v any) bool { have, ok := numberIn(v); return ok && have == want }
	case isText:
		same = func(v any) bool { have, ok := toText(v); return ok && have == text }
	case expected == nil:
		return nil, errors.New("null is not an expectation; write equal: null")
	}
	return matcher{same, shown(expected)}, nil
}

// patterns expects that the lines contain each of several texts or /regular expressions/, or with a ! before it that
// they do not.
func patterns(list []any) (Matcher, error) {
	type pattern struct {
		found  func(string) bool
		absent bool
	}
	var all []pattern
	for _, item := range list {
		p, ok := toText(item)
		if !ok {
			return nil, fmt.Errorf("%s is not a text to search for", shown(item))
		}
		var next pattern
		if rest, not := strings.CutPrefix(p, "!"); not {
			p, next.absent = rest, true
		}
		p = strings.TrimPrefix(p, `\`) // before a ! or / that belongs to the text
		if len(p) > 1 && p[0] == '/' && p[len(p)-1] == '/' && item != `\`+p {
			re, err := regexp.Compile("(?m)" + p[1:len(p)-1])
			if err != nil {
				return nil, fmt.Errorf("%q is not a regular expression: %w", p, err)
			}
			next.found = re.MatchString
		} else {
			wanted := p
			next.found = func(text string) bool { return strings.Contains(text, wanted) }
		}
		all = append(all, next)
	}
	return matcher{func(v any) bool {
		text, _ := v.(string)
		return !slices.ContainsFunc(all, func(p pattern) bool { return p.found(text) == p.absent })
	}, "lines with " + shown(list)}, nil
}

// elements expects all of several elements in a list, and with only no others.
func elements(s shape, expected []any, depth int, verb string, only bool) (Matcher, error) {
	element := text
	if s == anything {
		element = anything
	}
	var all []Matcher
	for _, item := range expected {
		m, err := parse(element, item, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return matcher{func(v any) bool {
		have := elementsOf(v)
		if only && len(have) != len(all) {
			return false
		}
		return !slices.ContainsFunc(all, func(m Matcher) bool { return !slices.ContainsFunc(have, m.Match) })
	}, verb + " " + shown(expected)}, nil
}

// operator returns the matcher of a map such as {gt: 5}.
func operator(s shape, e map[string]any, depth int) (Matcher, error) {
	if len(e) != 1 {
		return nil, fmt.Errorf("%s must have one matcher", shown(e))
	}
	name := slices.Collect(maps.Keys(e))[0]
	o := operation{s, name, e[name], depth}
	switch name {
	case "equal":
		return literalOnly(s, o.arg)
	case "not", "have-key":
		return o.nested()
	case "and", "or":
		return several(s, name, o.arg, depth)
	case "gt", "ge", "lt", "le":
		return o.number()
	case "have-prefix", "have-suffix", "contain-substring":
		return o.substring()
	case "match-regexp":
		return o.regexp()
	case "have-patterns":
		wanted, ok := o.arg.([]any)
		if !ok || !s.hasText() {
			return nil, fmt.Errorf("%q looks for a list of patterns in texts", name)
		}
		return patterns(wanted)
	case "gjson":
		return document(s, o.arg, depth)
	case "semver-constraint":
		return o.versions()
	case "have-len":
		return o.length()
	case "contain-element", "contain-elements", "consist-of":
		items, many := o.arg.([]any)
		if s != list && s != anything || !many && name != "contain-element" {
			return nil, fmt.Errorf("%q looks at lists", name)
		}
		if !many {
			items = []any{o.arg}
		}
		return elements(s, items, depth, name, name == "consist-of")
	}
	return nil, fmt.Errorf("unknown matcher %q (use and, consist-of, contain-element, contain-elements, contain-substring, equal, ge, gjson, gt, "+
		"have-key, have-len, have-patterns, have-prefix, have-suffix, le, lt, match-regexp, not, or, semver-constraint)", name)
}

// An operation is a matcher with a name and an argument, for values of a shape.
type operation struct {
	shape shape
	name  string
	arg   any
	depth int // depth of matchers around it
}

func (o operation) matcher(match func(any) bool) (Matcher, error) {
	return matcher{match, o.name + " " + shown(o.arg)}, nil
}

// nested parses "not" and "have-key", whose argument is a matcher.
func (o operation) nested() (Matcher, error) {
	of := o.shape
	if o.name == "have-key" {
		if of != anything {
			return nil, fmt.Errorf("%q looks at maps", o.name)
		}
		of = text
	}
	m, err := parse(of, o.arg, o.depth+1)
	if err != nil {
		return nil, err
	}
	if o.name == "not" {
		return o.matcher(func(v any) bool { return !m.Match(v) })
	}
	return o.matcher(func(v any) bool {
		for key := range asMap(v) {
			if m.Match(key) {
				return true
			}
		}
		return false
	})
}

func (o operation) number() (Matcher, error) {
	limit, ok := toNumber(o.arg)
	if !ok || o.shape != number && o.shape != anything {
		return nil, fmt.Errorf("%q compares numbers", o.name)
	}
	compare := map[string]func(float64) bool{
		"gt": func(n float64) bool { return n > limit }, "ge": func(n float64) bool { return n >= limit },
		"lt": func(n float64) bool { return n < limit }, "le": func(n float64) bool { return n <= limit },
	}[o.name]
	return o.matcher(func(v any) bool { n, ok := numberIn(v); return ok && compare(n) })
}

func (o operation) substring() (Matcher, error) {
	want, ok := toText(o.arg)
	if !ok || !o.shape.hasText() {
		return nil, fmt.Errorf("%q looks at texts", o.name)
	}
	holds := map[string]func(a, b string) bool{"have-prefix": strings.HasPrefix, "have-suffix": strings.HasSuffix, "contain-substring": strings.Contains}[o.name]
	return o.matcher(func(v any) bool { have, ok := toText(v); return ok && holds(have, want) })
}

func (o operation) regexp() (Matcher, error) {
	want, ok := o.arg.(string)
	if !ok || !o.shape.hasText() {
		return nil, fmt.Errorf("%q looks at texts", o.name)
	}
	re, err := regexp.Compile(want)
	if err != nil {
		return nil, fmt.Errorf("%q is not a regular expression: %w", want, err)
	}
	return o.matcher(func(v any) bool { have, ok := toText(v); return ok && re.MatchString(have) })
}

func (o operation) versions() (Matcher, error) {
	constraint, ok := o.arg.(string)
	if !ok || !o.shape.hasText() && o.shape != list {
		return nil, fmt.Errorf("%q looks at versions, and takes a text such as %q", o.name, ">=1.2.0 <2.0.0")
	}
	r, err := parseRange(constraint)
	if err != nil {
		return nil, err
	}
	return o.matcher(func(v any) bool { return inRange(r, v) })
}

func (o operation) length() (Matcher, error) {
	n, ok := toNumber(o.arg)
	if !ok || o.shape == boolean || o.shape == number {
		return nil, fmt.Errorf("%q counts the characters of a text or the elements of a list", o.name)
	}
	return o.matcher(func(v any) bool {
		switch v := v.(type) {
		case string:
			return float64(len(v)) == n
		case map[string]any:
			return float64(len(v)) == n
		case []string, []any:
			return float64(len(elementsOf(v))) == n
		}
		return false
	})
}

// hasText reports whether values of the shape can be texts.
func (s shape) hasText() bool { return s == text || s == output || s == anything }

// document expects values at paths of a JSON document (https://github.com/tidwall/gjson#path-syntax). As in goss,
// nothing is at a path that does not exist.
func document(s shape, arg any, depth int) (Matcher, error) {
	paths, ok := arg.(map[string]any)
	if !ok || len(paths) == 0 || !s.hasText() {
		return nil, errors.New(`"gjson" looks at texts that are JSON, and takes a map of paths`)
	}
	expected := map[string]Matcher{}
	for path, value := range paths {
		m, err := parse(anything, value, depth+1)
		if err != nil {
			return nil, fmt.Errorf("gjson %q: %w", path, err)
		}
		expected[path] = m
	}
	return matcher{func(v any) bool {
		text, ok := v.(string)
		if !ok || !gjson.Valid(text) {
			return false
		}
		for path, m := range expected {
			if found := gjson.Get(text, path); !found.Exists() || !m.Match(found.Value()) {
				return false
			}
		}
		return true
	}, "gjson " + shown(arg)}, nil
}

// literalOnly expects exactly a value, also if it could be a list of patterns.
func literalOnly(s shape, arg any) (Matcher, error) {
	switch items, many := arg.([]any); {
	case s == anything:
		want := plain(arg)
		return matcher{func(v any) bool { return reflect.DeepEqual(plain(v), want) }, shown(arg)}, nil
	case s == list && many:
		var want []string
		for _, item := range items {
			one, ok := toText(item)
			if !ok {
				return nil, fmt.Errorf("%s is not a text", shown(item))
			}
			want = append(want, one)
		}
		return matcher{func(v any) bool { return slices.Equal(texts(v), want) }, shown(arg)}, nil
	case s == output:
		s = text
	}
	return literal(s, arg)
}

// several expects all or one of several values.
func several(s shape, name string, arg any, depth int) (Matcher, error) {
	items, ok := arg.([]any)
	if !ok || len(items) == 0 {
		return nil, fmt.Errorf("%q takes a list of matchers", name)
	}
	var all []Matcher
	for _, item := range items {
		m, err := parse(s, item, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return matcher{func(v any) bool {
		matches := func(m Matcher) bool { return m.Match(v) }
		if name == "or" {
			return slices.ContainsFunc(all, matches)
		}
		return !slices.ContainsFunc(all, func(m Matcher) bool { return !matches(m) })
	}, name + " " + shown(arg)}, nil
}

func texts(v any) []string {
	l, _ := v.([]string)
	return l
}

// elementsOf returns the elements of a list.
func elementsOf(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	var all []any
	for _, s := range texts(v) {
		all = append(all, s)
	}
	return all
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// plain is a value with all its numbers as float64.
func plain(v any) any {
	if n, ok := toNumber(v); ok {
		return n
	}
	switch v := v.(type) {
	case []any, []string:
		all := []any{}
		for _, item := range elementsOf(v) {
			all = append(all, plain(item))
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, value := range v {
			all[key] = plain(value)
		}
		return all
	}
	return v
}

// numberIn returns a number, or the number that a text spells.
func numberIn(v any) (float64, bool) {
	if text, ok := v.(string); ok {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return n, err == nil
	}
	return toNumber(v)
}

func toNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// toText takes a scalar as text, as a manifest does.
func toText(v any) (string, bool) {
	switch t := v.(type) {
	case string:
		return t, true
	case bool, float64, int64, int:
		return fmt.Sprint(t), true
	}
	return "", false
}

// shown is a value in short, for people.
func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	const most = 200
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "…"
	}
	return string(b)
}

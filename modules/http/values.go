package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how deep an answer may be.
const maxDepth = 100

// decode reads one JSON document; its numbers keep their spelling.
func decode(text string) (any, error) {
	depth, inText, escaped := 0, false, false
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case !inText && (c == '{' || c == '['):
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("it is more than %d levels deep", maxDepth)
			}
		case !inText && (c == '}' || c == ']'):
			depth--
		}
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more data after the JSON value")
	}
	return v, nil
}

// differs returns an error that names the wanted value that a document lacks; nil if it has all.
func differs(is any, wanted map[string]any) error {
	for _, where := range slices.Sorted(maps.Keys(wanted)) {
		have, ok := at(is, where)
		if !ok {
			return fmt.Errorf("the answer has no %q", where)
		}
		if !equal(have, wanted[where]) {
			return fmt.Errorf("%q is %s, not %s", where, some(shown(have)), some(shown(wanted[where])))
		}
	}
	return nil
}

// at finds a value by its path.
func at(v any, where string) (any, bool) {
	for key := range strings.SplitSeq(where, ".") {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// equal compares values as people write them: a text is equal to the number or the boolean that it spells, since an
// expression often returns a text.
func equal(a, b any) bool {
	one, two := shown(a), shown(b)
	return one == two || bare(a, one) == bare(b, two)
}

func bare(v any, shown string) string {
	if text, ok := v.(string); ok {
		return text
	}
	return shown
}

// shown is a value as JSON; a whole number has no fraction, whatever its source.
func shown(v any) string {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

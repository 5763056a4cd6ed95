package jinja

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A jsonWriter writes JSON like Python's json.dumps.
type jsonWriter struct {
	x            *exec
	b            strings.Builder
	indent       string // "" is one line
	lines        bool   // each entry has a line of its own
	comma, colon string
	sortKeys     bool
	ascii        bool
}

func toJSON(c *call) any {
	w := &jsonWriter{x: c.x, comma: ", ", colon: ": ", ascii: true}
	return w.result(c, c.bound[0])
}

func toNiceJSON(c *call) any {
	w := &jsonWriter{x: c.x, comma: ",", colon: ": ", ascii: true, sortKeys: c.truth(2, true)}
	w.setIndent(c, c.value(1, int64(4)))
	return w.result(c, c.bound[0])
}

// tojson is the filter of Jinja, which writes for HTML.
func tojson(c *call) any {
	w := &jsonWriter{x: c.x, comma: ", ", colon: ": ", ascii: true, sortKeys: true}
	if c.has(1) {
		w.setIndent(c, c.bound[1])
	}
	s := w.result(c, c.bound[0]).(string)
	return c.x.text(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(s))
}

func (w *jsonWriter) setIndent(c *call, v any) {
	switch v := v.(type) {
	case nil:
	case string:
		w.lines, w.indent = true, v
	default:
		n, ok := small(v)
		if !ok || n > 100 {
			c.failf("indent is a number up to 100")
		}
		w.lines, w.indent = true, strings.Repeat(" ", int(max(0, n)))
	}
	if w.lines {
		w.comma = ","
	}
}

// result reads the other arguments of json.dumps, and writes v.
func (w *jsonWriter) result(c *call, v any) any {
	for _, name := range []string{"vault_to_text", "preprocess_unsafe", "check_circular", "allow_nan"} {
		c.keyword(name)
	}
	if v, ok := c.keyword("indent"); ok {
		w.setIndent(c, v)
	}
	if v, ok := c.keyword("sort_keys"); ok {
		w.sortKeys = c.x.truth(v)
	}
	if v, ok := c.keyword("ensure_ascii"); ok {
		w.ascii = c.x.truth(v)
	}
	if v, ok := c.keyword("separators"); ok {
		pair := c.x.iterate(v)
		if len(pair) != 2 {
			c.failf("two separators are needed")
		}
		w.comma, w.colon = c.x.str(pair[0]), c.x.str(pair[1])
	}
	if len(c.keywords) > 0 {
		c.failf("there is no argument %q", c.keywords[0].name)
	}
	w.value(v, 0)
	return c.x.text(w.b.String())
}

func (w *jsonWriter) value(v any, level int) {
	w.x.step(1)
	w.x.length(w.b.Len())
	switch v := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case int64, *big.Int:
		w.b.WriteString(w.x.repr(v))
	case float64:
		switch {
		case math.IsNaN(v):
			w.b.WriteString("NaN")
		case math.IsInf(v, 1):
			w.b.WriteString("Infinity")
		case math.IsInf(v, -1):
			w.b.WriteString("-Infinity")
		default:
			w.b.WriteString(floatText(v))
		}
	case string:
		w.text(v)
	case *dict:
		w.dict(v, level)
	case *undefined:
		w.x.use(v)
	default:
		items, ok := w.x.sequence(v)
		if l, isList := v.(*list); !ok || isList && l.view != "" || typeName(v) == "range" {
			w.x.failf("%s cannot be written as JSON", typeName(v))
		}
		w.entries("[", "]", len(items), level, func(i int) { w.value(items[i], level+1) })
	}
}

func (w *jsonWriter) entries(left, right string, n, level int, one func(i int)) {
	defer w.x.deeper()()
	w.b.WriteString(left)
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.comma)
		}
		w.newline(level + 1)
		one(i)
	}
	if n > 0 {
		w.newline(level)
	}
	w.b.WriteString(right)
}

func (w *jsonWriter) newline(level int) {
	if w.lines {
		w.b.WriteByte('\n')
		w.b.WriteString(strings.Repeat(w.indent, level))
	}
}

func (w *jsonWriter) dict(d *dict, level int) {
	pairs := w.x.pairs(d)
	if w.sortKeys {
		w.x.sort(pairs, false, func(v any) any { return v.(tuple)[0] })
	}
	w.entries("{", "}", len(pairs), level, func(i int) {
		pair := pairs[i].(tuple)
		switch key := pair[0].(type) {
		case string:
			w.text(key)
		case nil:
			w.text("null")
		case bool:
			w.text(strconv.FormatBool(key))
		case int64, *big.Int, float64:
			w.text(w.x.repr(key))
		default:
			w.x.failf("a key that is %s cannot be written as JSON", typeName(key))
		}
		w.b.WriteString(w.colon)
		w.value(pair[1], level+1)
	})
}

func (w *jsonWriter) text(s string) {
	w.b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(c)
		case c == '\n':
			w.b.WriteString(`\n`)
		case c == '\t':
			w.b.WriteString(`\t`)
		case c == '\r':
			w.b.WriteString(`\r`)
		case c == '\b':
			w.b.WriteString(`\b`)
		case c == '\f':
			w.b.WriteString(`\f`)
		case c >= ' ' && (c < 0x7f || c == 0x7f || !w.ascii):
			w.b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&w.b, `\u%04x`, c)
		}
	}
	w.b.WriteByte('"')
}

// parseJSON is from_json.
func (x *exec) parseJSON(s string) any {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	v := x.jsonValue(dec)
	if _, err := dec.Token(); err != io.EOF {
		x.failf("from_json: the text is not JSON")
	}
	return v
}

// jsonValue reads a value; dicts keep the order of their keys.
func (x *exec) jsonValue(dec *json.Decoder) any {
	defer x.deeper()()
	x.step(1)
	t, err := dec.Token()
	if err != nil {
		x.failf("from_json: the text is not JSON")
	}
	switch t := t.(type) {
	case json.Number:
		if !bytes.ContainsAny([]byte(t), ".eE") {
			n, _ := new(big.Int).SetString(string(t), 10)
			return x.bounded(n)
		}
		f, _ := strconv.ParseFloat(string(t), 64)
		return f
	case json.Delim:
		if t == '{' {
			d := newDict()
			for dec.More() {
				key := x.jsonValue(dec)
				d.set(x, key, x.jsonValue(dec))
			}
			x.closing(dec)
			return d
		}
		l := &list{}
		for dec.More() {
			l.items = append(l.items, x.jsonValue(dec))
		}
		x.closing(dec)
		return x.newList(l.items)
	case string:
		if !utf8.ValidString(t) {
			x.failf("from_json: the text is not JSON")
		}
		return t
	}
	return t
}

func (x *exec) closing(dec *json.Decoder) {
	if _, err := dec.Token(); err != nil {
		x.failf("from_json: the text is not JSON")
	}
}

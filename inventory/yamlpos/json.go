package yamlpos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON returns the tree as JSON of at most limit bytes: maps in the order of the file, numbers with all their digits,
// dates as they are written. Numbers that JSON does not have (.inf, .nan) are an error, and so is a tree that exceeds
// limit, for example because of its aliases.
func (n *Node) JSON(limit int) (json.RawMessage, error) {
	w := jsonWriter{limit: limit}
	if err := w.node(n); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

type jsonWriter struct {
	out   bytes.Buffer
	limit int
}

func (w *jsonWriter) node(n *Node) (err error) {
	switch n.Kind {
	case Map:
		err = w.pairs(n)
	case List:
		err = w.items(n)
	default:
		err = w.scalar(n)
	}
	if err == nil && w.out.Len() > w.limit {
		return n.Errorf("use fewer aliases (*name): each alias copies the value", "more than %d KiB as JSON", w.limit>>10)
	}
	return err
}

func (w *jsonWriter) pairs(n *Node) error {
	w.out.WriteByte('{')
	for i, p := range n.Pairs {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.text(p.Key.Text)
		w.out.WriteByte(':')
		if err := w.node(p.Value); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *jsonWriter) items(n *Node) error {
	w.out.WriteByte('[')
	for i, item := range n.Items {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.node(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *jsonWriter) text(s string) {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // into memory, and a string: cannot fail
	w.out.Truncate(w.out.Len() - len("\n"))
}

func (w *jsonWriter) scalar(n *Node) error {
	switch v := n.Value.(type) {
	case nil:
		w.out.WriteString("null")
	case bool:
		fmt.Fprint(&w.out, v)
	case int64, float64:
		text, err := number(n)
		if err != nil {
			return err
		}
		w.out.WriteString(text)
	default:
		w.text(n.Text)
	}
	return nil
}

// number writes a number as JSON does. The text of the file has digits that a
// float64 may not have.
func number(n *Node) (string, error) {
	if isJSONNumber(n.Text) {
		return n.Text, nil
	}
	f, isFloat := n.Value.(float64)
	if !isFloat {
		return fmt.Sprint(n.Value), nil
	}
	if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Text, "_", ""), 0); ok {
		return i.String(), nil
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", n.Errorf("", "JSON has no number %s", n.Text)
	}
	b, err := json.Marshal(f)
	return string(b), err
}

func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// The bounds of a text. The caller bounds its size.
const (
	maxJSONDepth  = 100
	maxJSONValues = 4_000_000
)

// ParseJSON reads one value. file is only used in positions. A number is an int64 if it
// fits, and a float64 otherwise. It is an [Error] if a key is given twice, if text follows
// the value, or if values are nested too deep.
func ParseJSON(file string, data []byte) (*Node, error) {
	if !utf8.Valid(data) {
		return nil, &Error{File: file, Msg: "is not UTF-8"}
	}
	r := jsonReader{file: file, data: data, line: 1, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err == nil {
		r.advance()
		if _, end := r.dec.Token(); !errors.Is(end, io.EOF) {
			err = r.errorf("there is more text after the JSON value")
		}
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// A jsonReader makes nodes of JSON.
type jsonReader struct {
	file string
	data []byte
	dec  *json.Decoder

	at, line, start int // where the next token begins, its line, and where that begins
	values          int

	counted, columns int // characters of the line before data[counted]
}

// advance moves to the beginning of the next token.
func (r *jsonReader) advance() {
	end := int(r.dec.InputOffset())
	for r.at < len(r.data) {
		c := r.data[r.at]
		if r.at >= end && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ',' && c != ':' {
			return
		}
		r.at++
		if c == '\n' {
			r.line++
			r.start = r.at
		}
	}
}

func (r *jsonReader) errorf(format string, args ...any) *Error {
	return &Error{File: r.file, Line: r.line, Column: r.column(), Msg: fmt.Sprintf(format, args...)}
}

// column continues from the position of the last call: all tokens may be in one line.
func (r *jsonReader) column() int {
	if r.counted < r.start {
		r.counted, r.columns = r.start, 0
	}
	r.columns += utf8.RuneCount(r.data[r.counted:r.at])
	r.counted = r.at
	return 1 + r.columns
}

// token reads the next token; the node has its position.
func (r *jsonReader) token() (json.Token, *Node, error) {
	r.advance()
	token, err := r.dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, r.errorf("the JSON ends too early")
	}
	if err != nil {
		return nil, nil, r.errorf("the text is not valid JSON: %s", err)
	}
	return token, &Node{File: r.file, Line: r.line, Column: r.column()}, nil
}

func (r *jsonReader) value(depth int) (*Node, error) {
	token, n, err := r.token()
	if err != nil {
		return nil, err
	}
	return n, r.fill(n, token, depth)
}

func (r *jsonReader) fill(n *Node, token json.Token, depth int) error {
	if r.values++; r.values > maxJSONValues {
		return n.Errorf("", "the JSON text has more than %d values", maxJSONValues)
	}
	if depth > maxJSONDepth {
		return n.Errorf("", "nested more than %d levels deep", maxJSONDepth)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return r.list(n, depth)
		}
		return r.object(n, depth)
	case json.Number:
		n.Text = token.String()
		n.Value = jsonNumber(n.Text)
	case string:
		n.Text, n.Value, n.Quoted = token, token, true
	case bool:
		n.Text, n.Value = strconv.FormatBool(token), token
	case nil:
		n.Text = "null"
	}
	return nil
}

// jsonNumber returns an int64 if the number fits, and a float64 otherwise.
func jsonNumber(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
	return f
}

func (r *jsonReader) list(n *Node, depth int) error {
	n.Kind = List
	for r.dec.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, _, err := r.token()
	return err
}

func (r *jsonReader) object(n *Node, depth int) error {
	n.Kind = Map
	seen := map[string]bool{}
	for r.dec.More() {
		token, key, err := r.token()
		if err != nil {
			return err
		}
		if err := r.fill(key, token, depth+1); err != nil {
			return err
		}
		if seen[key.Text] {
			return key.Errorf("", "key %q is given twice", key.Text)
		}
		seen[key.Text] = true
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Pairs = append(n.Pairs, Pair{Key: key, Value: value})
	}
	_, _, err := r.token()
	return err
}

package yamlpos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// The bounds of a text, besides its size, which is for the caller to bound.
const (
	maxJSONDepth  = 100
	maxJSONValues = 4_000_000
)

// ParseJSON reads one value. file is only used in positions. A number is an int64 where
// it can be one, and a float64 otherwise. A key that is there twice, text behind the
// value, and what is nested too deep are errors, as [Error].
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
			err = r.errorf("there is something behind the JSON value")
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
}

// advance goes to where the next token begins.
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

func (r *jsonReader) column() int { return 1 + utf8.RuneCount(r.data[r.start:r.at]) }

// token reads the next token; the node has its position.
func (r *jsonReader) token() (json.Token, *Node, error) {
	r.advance()
	token, err := r.dec.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, r.errorf("the JSON ends too early")
	}
	if err != nil {
		return nil, nil, r.errorf("not JSON: %s", err)
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
		return n.Errorf("", "more than %d values", maxJSONValues)
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

// jsonNumber is an int64 where it can be one, and a float64 otherwise.
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

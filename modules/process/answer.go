package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Value is a JSON value that a program has printed; its numbers are [json.Number].
type Value struct {
	JSON any
	At   int // the byte of the text that it begins with
}

// Values reads all JSON values in text. The error is a [*Fault].
func Values(text string) ([]Value, error) {
	d := decoder(text)
	var all []Value
	for {
		v := Value{At: next(text, d)}
		switch err := d.Decode(&v.JSON); err {
		case nil:
			all = append(all, v)
		case io.EOF:
			return all, nil
		default:
			return nil, fault(text, err)
		}
	}
}

// Decode reads one JSON value and nothing after it. The error is a [*Fault].
func Decode(text string, into any) error {
	d := decoder(text)
	if err := d.Decode(into); err != nil {
		return fault(text, err)
	}
	if at := next(text, d); at < len(text) {
		return &Fault{text: text, at: at, kind: more}
	}
	return nil
}

func decoder(text string) *json.Decoder {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d
}

// next is where the next value begins.
func next(text string, d *json.Decoder) int {
	done := int(d.InputOffset())
	return len(text) - len(strings.TrimLeft(text[done:], " \t\r\n"))
}

// A Fault is a syntax error at a place in a text.
type Fault struct {
	text string
	at   int // byte
	kind kind
	err  error // error of [encoding/json]; may be nil
}

type kind int

const (
	wrong kind = iota // no JSON
	shape             // JSON of another kind
	empty
	early // it ends within a value
	more  // something follows
)

func fault(text string, err error) *Fault {
	f := &Fault{text: text, err: err}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		f.at = int(syntax.Offset) - 1
	}
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.kind, f.at = shape, int(other.Offset)-1
	}
	switch {
	case errors.Is(err, io.EOF):
		f.kind = empty
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.kind, f.at = early, len(strings.TrimRight(text, " \t\r\n"))-1
	}
	return f
}

// Unwrap returns the error of [encoding/json].
func (f *Fault) Unwrap() error { return f.err }

func (f *Fault) Error() string { return f.Hiding(func(s string) string { return s }) }

// Hiding is the text of the error; hide removes secrets from a line, before the line is cut.
func (f *Fault) Hiding(hide func(string) string) string {
	switch f.kind {
	case empty:
		return "it is empty"
	case early:
		return "it ends too early: " + Line(f.text, f.at, hide)
	case more:
		return "more follows: " + Line(f.text, f.at, hide)
	case shape:
		return Line(f.text, f.at, hide)
	}
	// A line with the beginning of a string or object before the fault was meant to be JSON. Others are texts such as
	// "note: x", whose n could be the n of null.
	number, line, column := find(f.text, f.at)
	if before := line[:column]; strings.ContainsAny(before, `{"`) {
		return fmt.Sprintf("line %d is wrong at column %d: %s", number, utf8.RuneCountInString(before)+1, quoteAt(line, column, hide))
	}
	return Line(f.text, f.at, hide)
}

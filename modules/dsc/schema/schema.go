package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Schema describes the properties of a resource.
type Schema struct {
	root     *node
	warnings []string
}

// Value decodes JSON so that numbers keep their text: objects are map[string]any,
// lists []any, numbers json.Number.
func Value(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// Compile reads a schema.
func Compile(doc json.RawMessage) (*Schema, error) {
	v, err := Value(doc)
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	s := &Schema{}
	if s.root, err = compileRoot(s, v); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return s, nil
}

// Warnings lists the parts of the schema that were ignored.
func (s *Schema) Warnings() []string { return s.warnings }

func (s *Schema) warn(format string, args ...any) {
	const most = 50
	if text := fmt.Sprintf(format, args...); len(s.warnings) < most && !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

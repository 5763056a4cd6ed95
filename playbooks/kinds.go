package playbooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// A kind is a type of values that a worker and the coordinator exchange. In JSON a value is an object with one key, the
// name of its type.
type kind struct{ reflect.Type }

func (k kind) goType() reflect.Type { return k.Type }

// kindOf returns the name and the kind of a value. The error means that no kind has its type.
func kindOf[K interface{ goType() reflect.Type }](kinds map[string]K, v any) (name string, k K, err error) {
	for name, k := range kinds {
		if k.goType() == reflect.TypeOf(v) {
			return name, k, nil
		}
	}
	return "", k, fmt.Errorf("%T is not sent", v)
}

// encodeKind returns a value as JSON.
func encodeKind[K interface{ goType() reflect.Type }](kinds map[string]K, v any) ([]byte, error) {
	name, _, err := kindOf(kinds, v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{name: v})
}

// decodeKind reads a value from JSON. An error is a [BreachError].
func decodeKind[V any, K interface{ goType() reflect.Type }](kinds map[string]K, text []byte) (v V, err error) {
	var bodies map[string]json.RawMessage
	if err := decodeStrictly(text, &bodies); err != nil {
		return v, err
	}
	if len(bodies) > 1 {
		return v, breach("sent two requests in one")
	}
	for name, body := range bodies {
		if k, known := kinds[name]; known {
			one := reflect.New(k.goType())
			err := decodeStrictly(body, one.Interface())
			return one.Elem().Interface().(V), err
		}
	}
	return v, breach("sent an unknown request")
}

// decodeStrictly reads JSON. Both ends are the same build, so an unknown field is a [BreachError].
func decodeStrictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return breach("sent data that is not readable: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return breach("sent data with more after its end")
	}
	return nil
}

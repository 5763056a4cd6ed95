package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// A Checker checks files against a schema.
type Checker struct{ compiled *jsonschema.Schema }

// Compile reads a schema from its own text, and checks it against the schema of schemas.
func Compile(t testing.TB, s *schema.Schema) Checker {
	t.Helper()
	text, err := s.Encode()
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource(s.ID, document))
	compiled, err := c.Compile(s.ID)
	require.NoError(t, err)
	return Checker{compiled}
}

// Check validates every document of a YAML file. A file that is not YAML is not judged by a schema.
func (c Checker) Check(data []byte) error {
	documents, err := yamlpos.Parse("", data)
	if err != nil {
		return nil
	}
	var errs []error
	for i, d := range documents {
		value, err := asJSON(d.Any())
		if err == nil {
			err = c.compiled.Validate(value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("document %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

// CheckJSON validates one JSON document.
func (c Checker) CheckJSON(data []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return c.compiled.Validate(value)
}

// asJSON returns the value as read from JSON, which has no .nan and .inf.
func asJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

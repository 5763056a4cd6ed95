package ral

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConvertAndRead(t *testing.T) {
	str, boolean, list := attribute{}, attribute{Type: typeBool}, attribute{Type: typeArray}
	enum := attribute{Type: typeEnum, Options: []string{"true", "false", "mask"}}
	for _, test := range []struct {
		name    string
		a       attribute
		v       any
		convert any // or the error
		read    any
	}{
		{"text", str, "x", "x", "x"},
		{"text from a boolean", str, true, "true", "true"},
		{"text from a number", str, 8080, "8080", "8080"},
		{"text from a large number", str, uint64(18446744073709551615), "18446744073709551615", "18446744073709551615"},
		{"text from a number of an answer", str, json.Number("1.50"), "1.50", "1.50"},
		{"text from a number of a manifest", str, 0.1, "0.1", "0.1"},
		{"unset", str, nil, nil, nil},
		{"text from a list", str, []any{"a"}, errorText("a list is not a single value"), errorText("a list is not a single value")},
		{"text from a map", str, map[string]any{}, errorText("a map is not a single value"), errorText("a map is not a single value")},

		{"boolean", boolean, false, false, false},
		{"boolean from text", boolean, "true", errorText(`"true" is not true or false`), true},
		{"boolean from other text", boolean, "yes", errorText(`"yes" is not true or false`), errorText(`"yes" is not true or false`)},
		{"boolean from a number", boolean, json.Number("1"), errorText(`"1" is not true or false`), errorText(`"1" is not true or false`)},

		{"list", list, []any{"a", 1, true}, []string{"a", "1", "true"}, []string{"a", "1", "true"}},
		{"empty list", list, []any{}, []string{}, []string{}},
		{"list of lists", list, []any{[]any{}}, errorText("element 1 is not a single value"), errorText("element 1 is not a single value")},
		{"list from text", list, "a, b", errorText(`"a, b" is not a list`), []string{"a", "b"}},
		{"list from text in brackets", list, "[a,b ]", errorText(`"[a,b ]" is not a list`), []string{"a", "b"}},
		{"list from nothing", list, "", errorText(`"" is not a list`), []string{}},

		{"enum", enum, "mask", "mask", "mask"},
		{"enum from a boolean", enum, true, "true", "true"},
		{"enum of something else", enum, "5.2-1", errorText(`"5.2-1" is not one of true, false, mask`), "5.2-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := test.a.convert(test.v)
			outcome(t, test.convert, v, err)
			v, err = test.a.read(test.v)
			outcome(t, test.read, v, err)
		})
	}
}

type errorText string

func outcome(t *testing.T, want, v any, err error) {
	t.Helper()
	if text, ok := want.(errorText); ok {
		require.EqualError(t, err, string(text))
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, v)
}

func TestShown(t *testing.T) {
	require.Equal(t, "unset", shown(nil))
	require.Equal(t, `["a", "b c"]`, shown([]string{"a", "b c"}))
	require.Equal(t, "[]", shown([]string{}))
	require.Equal(t, "false", shown(false))
	require.Equal(t, "x y", shown("x y"))
}

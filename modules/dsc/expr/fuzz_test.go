package expr

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// FuzzParse checks that every parsed expression is evaluated within the limits and without a panic, and that its
// remaining part for a host parses again and has the same result there.
func FuzzParse(f *testing.F) {
	for _, c := range results {
		f.Add(c.text)
	}
	for _, c := range wrong {
		f.Add(c.text)
	}
	for _, c := range left {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		here, hereErr := evaluate(t, doc(), nil, text)
		if hereErr != nil {
			return
		}
		if _, known := here.Value(); known {
			return
		}
		sealed, scope, err := seal(map[string]any{"p": here}, Result{value: true})
		if err != nil {
			return
		}
		again, err := NewEvaluator(&Names{Parameter: scope.parameters(), Resource: func(id string) (string, error) { return id, nil }, Earlier: func() []string { return nil }}, nil).Eval(t.Context(), sealed["p"].(string))
		require.NoError(t, err, sealed)
		resealed, _, err := seal(map[string]any{"p": again}, Result{value: true})
		require.NoError(t, err)
		require.Equal(t, sealed["p"], resealed["p"])
	})
}

// FuzzEscape: an escaped text stands for itself, and nothing of it is evaluated.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "[", "[[", "[concat('a','b')]", "a[", "[[[x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.False(t, Is(Escape(text)))
		require.Equal(t, text, Plain(Escape(text)))
		folded, err := fold(map[string]any{"a": []any{Escape(text)}}, func(string) (Result, error) { panic("evaluated") })
		require.NoError(t, err)
		require.Equal(t, map[string]any{"a": []any{text}}, folded)
		if !utf8.ValidString(text) {
			return
		}
		// As a literal within an expression, and as a value that a host sent.
		s := NewSealer()
		p, err := evaluate(t, doc(), nil, "[coalesce("+s.literal(text)+")]")
		if len(text) < maxText/4 {
			require.NoError(t, err)
			require.Equal(t, text, p.value)
		}
		scope := &Scope{}
		got, _, err := scope.Evaluate(t.Context(), answers{"envvar X": text}, map[string]any{"p": "[envvar('X')]"})
		require.NoError(t, err)
		require.Equal(t, text, got["p"])
	})
}

// FuzzDecode: values survive the way to a host and back.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,1.5,null,"x",true]}`, `{"secureString":"x"}`, `{"secureObject":{"a":{"secureString":"b"}}}`, `9223372036854775808`, `[1E1000]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Decode([]byte(text))
		if err != nil {
			return
		}
		b, err := json.Marshal(Wrapped(v))
		require.NoError(t, err)
		again, err := Decode(b)
		require.NoError(t, err)
		c, err := json.Marshal(Wrapped(again))
		require.NoError(t, err)
		require.JSONEq(t, string(b), string(c))
	})
}

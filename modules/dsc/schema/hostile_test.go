package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tooLong = "cannot be held against the schema, which would take too long"

// TestHostile checks that no schema takes forever or uses all memory.
func TestHostile(t *testing.T) {
	doubling := `{"$defs": {"d0": {"type": "string"}`
	for i := range 60 {
		doubling += fmt.Sprintf(`, "d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i+1, i, i)
	}
	doubling += `}, `
	tooLarge := strings.Repeat("(ab){1000}", 11)
	long := strings.Repeat("a", 100_000)
	wide := strings.Repeat("(a{0,30}){0,30}", 7) // and so many parts of 300 kB that an int of 32 bits would not hold them
	number := strings.Repeat("7", 200_000)
	for _, test := range []struct{ name, schema, value, want string }{
		{"itself", `{"$ref": "#"}`, `1`, "is not allowed: the schema leads back to itself"},
		{"each other", `{"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}`, `1`,
			"fits none of the alternatives (is not allowed: the schema leads back to itself)"},
		{"itself, not", `{"not": {"$ref": "#"}}`, `1`, ""},
		{"doubling", doubling + `"$ref": "#/$defs/d60"}`, `"x"`, tooLong},
		{"doubling, not", doubling + `"not": {"$ref": "#/$defs/d60"}}`, `"x"`, tooLong},
		{"doubling, not true", doubling + `"not": {"not": {"$ref": "#/$defs/d60"}}}`, `"x"`, tooLong},
		{"doubling, unevaluated", doubling + `"$ref": "#/$defs/d60", "unevaluatedProperties": false}`, `{}`, tooLong},
		{"doubling, of alternatives", strings.ReplaceAll(doubling, "allOf", "anyOf") + `"$ref": "#/$defs/d60"}`, `1`, tooLong},
		{"big numbers", `{"multipleOf": 3, "minimum": 1e-999999999, "maximum": 1e999999999999999999999}`, `3e99999999`, ""},
		{"long numbers", `{"multipleOf": ` + strings.Repeat("7", 200_000) + `}`, strings.Repeat("6", 200_001), tooLong},
		{"small steps", `{"multipleOf": 1e-999999999}`, `1e999999999`, ""},
		{"large steps", `{"multipleOf": 1e999999999}`, `1`, "is not allowed: multipleOf: got 1, want 1e999999999"},
		{"large counts", `{"maxItems": 1e999, "minItems": 0.0}`, `[1]`, ""},
		{"patterns", `{"allOf": [` + strings.Repeat(`{"pattern": "(a{0,30}){0,30}b"},`, 500) + `{}]}`, `"` + long + `"`, tooLong},
		{"a long text", `{"allOf": [` + strings.Repeat(`{"pattern": "`+wide+`b"},`, 500) + `{}]}`, `"` + long + long + long + `"`, tooLong},
		{"a number, again and again", `{"allOf": [` + strings.Repeat(`{"minimum": 1},`, 10_000) + `{}]}`, number, tooLong},
		{"a number, of alternatives", `{"enum": [` + strings.Repeat(`1,`, 10_000) + `1]}`, number, "must be one of " + strings.Repeat("1, ", 12) + "…"},
		{"a number in a list", `{"allOf": [` + strings.Repeat(`{"uniqueItems": true},`, 10_000) + `{}]}`, "[" + number + "]", tooLong},
		{"a number, of which nothing is asked", `{"allOf": [` + strings.Repeat(`{"enum": ["x"]}, {},`, 10_000) + `{}]}`, number, `must be one of "x"`},
		{"a pattern too large", `{"pattern": "` + tooLarge + `"}`, `"b"`, ""},
		{"nested values", `{"items": {"$ref": "#"}}`, strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), tooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, texts(compile(t, test.schema).Check(value(t, test.value))))
		})
	}
	_, err := Compile(json.RawMessage(strings.Repeat(`{"not":`, 2_000) + "{}" + strings.Repeat("}", 2_000)))
	require.EqualError(t, err, "the schema cannot be used: it is nested deeper than 500")
	require.Equal(t, []string{`the schema has the pattern "` + tooLarge + `", which is not understood and not looked at`}, compile(t, `{"pattern": "`+tooLarge+`"}`).Warnings())
}

// TestPatternsTogether checks the limit for the total size of patterns that are small enough by themselves.
func TestPatternsTogether(t *testing.T) {
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`{"pattern": "%d%s"}`, i, strings.Repeat("(a{30}){30}", 10)))
	}
	s := compile(t, `{"allOf": [`+strings.Join(all, ",")+`, {"pattern": "^x$"}]}`)
	require.Len(t, s.Warnings(), 50)
	require.Equal(t, strings.Count(texts(s.Check("y")), "does not match"), maxFaults)
}

// TestSpending checks that spending more steps than exist does not overflow, on any machine.
func TestSpending(t *testing.T) {
	for _, n := range []int{1, 1 << 10, 1 << 16, 1 << 20, math.MaxInt32} {
		b := &budget{maxSteps}
		require.Equal(t, int64(n)*int64(n) <= maxSteps, b.spendEach(n, n), n)
		require.LessOrEqual(t, b.remaining, maxSteps-1)
	}
}

// TestNumbers checks that numbers have the exact value of their text, even if a float cannot hold it.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"0", "-0.0e5", 0}, {"1", "1.0", 0}, {"10", "1e1", 0}, {"100e-2", "1", 0}, {"0.1", "1e-1", 0}, {"12", "123", -1}, {"-12", "-123", 1}, {"-1", "1", -1}, {"0", "-1", 1},
		{"9007199254740993", "9007199254740992", 1}, {"1e400", "1e401", -1}, {"1e-400", "0", 1}, {"0.30000000000000004", "0.3", 1}, {"2", "10", -1}, {"-2", "-10", 1},
	} {
		a, ok := numberOf(json.Number(test.a))
		require.True(t, ok)
		b, ok := numberOf(json.Number(test.b))
		require.True(t, ok)
		require.Equal(t, test.want, a.compare(b), test)
		require.Equal(t, -test.want, b.compare(a), test)
		same, isNumber := SameNumber(json.Number(test.a), json.Number(test.b))
		require.Equal(t, []bool{test.want == 0, true}, []bool{same, isNumber}, test)
	}
	for _, v := range []any{"1", nil, json.Number(""), json.Number("x"), json.Number("-")} {
		_, ok := numberOf(v)
		require.False(t, ok, v)
	}
	for _, v := range []any{1.0, uint8(1), float32(1)} {
		require.Empty(t, compile(t, `{"type": "integer", "const": 1, "multipleOf": 0.5}`).Check(v))
	}
}

package yamlpos

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMap(t *testing.T) {
	n := parseOne(t, "a: [x, y]\nb: {c: x}\nd: {e: z}\n")
	replace := func(n *Node) (*Node, error) {
		if n.Text == "x" {
			return From(n, 1), nil
		}
		return n, nil
	}
	mapped, err := n.Map(replace)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"a": []any{int64(1), "y"}, "b": map[string]any{"c": int64(1)}, "d": map[string]any{"e": "z"},
	}, mapped.Any())
	require.Equal(t, "x", n.Get("a").Items[0].Text)
	require.Same(t, n.Get("d"), mapped.Get("d"))
	require.Equal(t, "f.yml:1:5", mapped.Get("a").Items[0].Pos())

	_, err = n.Map(func(n *Node) (*Node, error) { return nil, n.Errorf("", "no %s", n.Text) })
	require.EqualError(t, err, "f.yml:1:5: no x\nf.yml:1:8: no y\nf.yml:2:8: no x\nf.yml:3:8: no z")
}

func TestFrom(t *testing.T) {
	at := &Node{File: "f.yml", Line: 2, Column: 5}
	type word string
	for _, tt := range []struct {
		value any
		text  string
		want  any
	}{
		{nil, "", nil},
		{true, "true", true},
		{int8(-3), "-3", int64(-3)},
		{uint64(math.MaxUint64), "18446744073709551615", float64(math.MaxUint64)},
		{1.5, "1.5", 1.5},
		{5.0, "5", 5.0},
		{word("x"), "x", "x"},
		{ptr(7), "7", int64(7)},
		{[]int{1, 2}, "", []any{int64(1), int64(2)}},
		{map[string][]string{"b": {"x"}, "a": nil}, "", map[string]any{"a": []any{}, "b": []any{"x"}}},
		{map[any]any{1: "x"}, "", map[string]any{"1": "x"}},
		{struct{ A int }{1}, "{1}", "{1}"},
	} {
		t.Run(fmt.Sprintf("%T", tt.value), func(t *testing.T) {
			n := From(at, tt.value)
			require.Equal(t, tt.text, n.Text)
			require.Equal(t, tt.want, n.Any())
			require.True(t, n.Computed)
			require.Equal(t, "f.yml:2:5", n.Pos())
		})
	}
	n := From(at, map[string]any{"b": 1, "a": []any{2}})
	require.Equal(t, "a", n.Pairs[0].Key.Text)
	require.True(t, n.Get("a").Items[0].Computed)
}

func TestErrors(t *testing.T) {
	var errs Errors
	require.NoError(t, errs.Err())
	errs.Add(nil)
	errs.Add(&Error{File: "b.yml", Line: 1, Column: 2, Msg: "b"})
	errs.Add(errors.Join(
		&Error{File: "a.yml", Line: 10, Msg: "second"},
		Errors{{File: "a.yml", Line: 2, Column: 9, Msg: "first", Hint: "do it"}},
	))
	errs.Add(errors.New("plain"))
	errs.Add(&Error{File: "a.yml", Msg: "whole file"})
	require.EqualError(t, errs.Err(), "plain\na.yml: whole file\na.yml:2:9: first\n  hint: do it\na.yml:10: second\nb.yml:1:2: b")

	many := make(Errors, maxShown+2)
	for i := range many {
		many[i] = &Error{File: "a.yml", Line: i + 1, Msg: "x"}
	}
	require.True(t, strings.HasSuffix(many.Error(), "\na.yml:100: x\nand 2 more errors"))

	var one *Error
	require.ErrorAs(t, errs.Err(), &one)
	require.Equal(t, "plain", one.Msg)
}

func TestSuggest(t *testing.T) {
	known := []string{"address", "port", "user", "private_key", "on"}
	for word, want := range map[string]string{
		"adress": "address", "adrdess": "address", "ADDRESS": "address", "prot": "port", "usr": "user",
		"priv_key": "", "privat_key": "private_key", "xyz": "", "no": "on", "": "", "of": "on",
	} {
		require.Equal(t, want, Suggest(word, known), word)
	}
}

func TestWithout(t *testing.T) {
	n := parseOne(t, "a: 1\nb: ~\nc: 3\n")
	rest := n.Without(func(key string) bool { return key != "b" })
	require.Equal(t, map[string]any{"b": nil}, rest.Any())
	require.Len(t, n.Pairs, 3)
	require.Same(t, n, n.Without(func(string) bool { return false }))

	require.True(t, n.Get("b").IsNull())
	require.True(t, n.Get("gone").IsNull())
	require.False(t, n.Get("a").IsNull())
	require.False(t, n.IsNull())
	require.False(t, TextFrom("-i x,", "").IsNull())
	require.Equal(t, "-i x,", TextFrom("-i x,", "x").Pos())
}

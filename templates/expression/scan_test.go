package expression

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// joined joins the spans of s again, at their offsets.
func joined(s string, spans []span) string {
	var b strings.Builder
	for _, sp := range spans {
		gap := s[b.Len():sp.offset] // delimiters
		b.WriteString(gap)
		b.WriteString(sp.text)
	}
	return b.String() + s[b.Len():]
}

func scanCases() map[string][]span {
	lit := func(offset int, s string) span { return span{text: s, offset: offset} }
	expr := func(offset int, s string) span { return span{text: s, offset: offset, expr: true} }
	return map[string][]span{
		"":                         nil,
		"plain":                    {lit(0, "plain")},
		"{{ a }}":                  {expr(2, " a ")},
		"${a}":                     {expr(2, "a")},
		"x{{a}}y${b}z":             {lit(0, "x"), expr(3, "a"), lit(6, "y"), expr(9, "b"), lit(11, "z")},
		"{{a}}{{b}}":               {expr(2, "a"), expr(7, "b")},
		`{{ "}}" }}`:               {expr(2, ` "}}" `)},
		`{{ '}}' + "\"}}" }}`:      {expr(2, ` '}}' + "\"}}" `)},
		"{{ `\\` }}":               {expr(2, " `\\` ")},
		`${ {"a": {"b": 1}}.a.b }`: {expr(2, ` {"a": {"b": 1}}.a.b `)},
		`{{ {"a": {"b": 1}}}}`:     {expr(2, ` {"a": {"b": 1}}`)},
		"${{ a }}":                 {lit(0, "$"), expr(3, " a ")},
		"$${a}":                    {lit(0, "$"), expr(3, "a")},
		"{{ a":                     {lit(0, "{{ a")},
		"${ a":                     {lit(0, "${ a")},
		"{{ 'a }}":                 {lit(0, "{{ 'a }}")},
		"{{ { }}":                  {lit(0, "{{ { }}")},
		"{{ a } ${b}":              {lit(0, "{{ a } "), expr(9, "b")},
		"{ {a} } $ {b}":            {lit(0, "{ {a} } $ {b}")},
		"${ '${HOME}' }":           {expr(2, " '${HOME}' ")},
		"$HOME }}":                 {lit(0, "$HOME }}")},
		"{{\n a\n}}":               {expr(2, "\n a\n")},
		"é{{ ü }}":                 {lit(0, "é"), expr(4, " ü ")},
		"{{}}":                     {expr(2, "")},
	}
}

func TestScan(t *testing.T) {
	for source, want := range scanCases() {
		t.Run(source, func(t *testing.T) {
			require.Equal(t, want, scan(source))
			require.Equal(t, source, joined(source, want))
		})
	}
}

func FuzzScan(f *testing.F) {
	for source := range scanCases() {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		spans := scan(source)
		require.Equal(t, source, joined(source, spans))
		exprs := false
		for i, sp := range spans {
			exprs = exprs || sp.expr
			if !sp.expr {
				require.NotEmpty(t, sp.text)
				require.False(t, i > 0 && !spans[i-1].expr, "two literals in a row")
			}
		}
		require.Equal(t, exprs, HasExpr(source))
	})
}

package gotemplate_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// hostileValues returns values of all kinds, as facts can hold them.
func hostileValues() []any {
	deep := any("hunter2")
	for range 10 {
		deep = []any{deep, map[string]any{"k": deep}}
	}
	values := []any{
		nil, true, int64(0), int64(-1), int64(1) << 62, -int64(1) << 63, 0.0, -0.5, 1e308, 5e-324, "", "hunter2", "%s%d%999999999d%!", "$0$1${x}",
		"(a*)*b", "[", "2006-01-02T15:04:05Z07:00", "9223372036854775808", "0x10", "1e9", "\x00\xff\xfe", strings.Repeat("x ", 4000), "../../etc/passwd",
		[]any{}, []any{nil}, []any{"hunter2", int64(1), nil, []any{"x"}, map[string]any{"a": 1.5}}, map[string]any{}, map[string]any{"": nil, "k": "hunter2", "scheme": int64(1)},
		deep, []any{slices.Repeat([]any{"hunter2"}, 500)},
	}
	return values
}

// TestSprigHostile calls every function with values of all kinds. It ends, does
// not panic, changes nothing and shows nothing.
func TestSprigHostile(t *testing.T) {
	values := hostileValues()
	facts := map[string]any{}
	for i, v := range values {
		facts[fmt.Sprintf("v%d", i)] = v
	}
	before := gotemplate.Cloned(facts)
	for name, fn := range gotemplate.AllFunctions() {
		if name[0] == '_' || name == "file" || name == "readFile" {
			continue
		}
		least, most := gotemplate.Arity(fn.Params)
		if most < 0 {
			most = least + 2
		}
		for n := least; n <= most; n++ {
			for shift := range len(values) {
				callHostile(t, name, n, shift, facts)
			}
		}
	}
	require.Equal(t, before, any(facts))
}

// callHostile calls a function in a template with n of the facts, from the
// shift-th on: the same ones and ones of other kinds.
func callHostile(t *testing.T, name string, n, shift int, facts map[string]any) {
	t.Helper()
	for _, stride := range []int{0, 1, 7} {
		var source strings.Builder
		source.WriteString("{{ $x := " + name)
		for i := range n {
			fmt.Fprintf(&source, " .Facts.v%d", (shift+i*stride)%len(facts))
		}
		source.WriteString(" }}{{ kindOf $x }}{{ if kindIs \"string\" $x }}{{ $x }}{{ end }}")
		tmpl, err := templates.ParseGo(source.String(), diag.WholeFile("x"), templates.Delims{})
		require.NoError(t, err, source.String())
		env := &templates.Env{Facts: facts, Data: map[string]any{}, Environ: map[string]any{"HOME": "/"}}
		out, err := tmpl.Render(templatetest.Expiring(t.Context(), 100_000), env)
		if err != nil {
			require.Empty(t, out)
			require.NotContains(t, err.Error(), "hunter2", source.String())
			require.Regexp(t, `^x:1:\d+: `, err.Error())
		}
		require.LessOrEqual(t, len(out), templates.MaxOutput+100)
	}
}

// TestRegexAgreesWithSprig compares our searches with Sprig's.
func TestRegexAgreesWithSprig(t *testing.T) {
	all := sprig.TxtFuncMap()
	for _, re := range []string{"a", "a*", "(a)|b", `\b`, "^", "$", "", "a*?", "(?m)^b", "[^a]+"} {
		for _, s := range []string{"", "a", "aab", "bab\nb", strings.Repeat("ab\n", 3000)} {
			for _, n := range []int{-1, 0, 1, 3} {
				require.Equal(t, all["regexFindAll"].(func(string, string, int) []string)(re, s, n), callGo(t, "regexFindAll", re, s, n))
				require.Equal(t, all["regexSplit"].(func(string, string, int) []string)(re, s, n), callGo(t, "regexSplit", re, s, n))
			}
			require.Equal(t, regexp.MustCompile(re).ReplaceAllString(s, "<$1>"), callGo(t, "regexReplaceAll", re, s, "<$1>"))
		}
	}
}

func callGo(t *testing.T, name string, args ...any) any {
	t.Helper()
	r, err := render.Begin(t.Context(), templatetest.Host(nil))
	require.NoError(t, err)
	out, err := (&gotemplate.Run{Run: r}).Invoke(name, args)
	require.NoError(t, err)
	return out
}

// TestSprigEnds has work that takes too long stop at the deadline.
func TestSprigEnds(t *testing.T) {
	const late = "rendering did not end in time: context deadline exceeded"
	for source, want := range map[string]string{
		`{{ regexFindAll "(?s)a.*b|a" (repeat 60000 "a") -1 }}`:                            "x:1:4: " + late,
		`{{ $x := repeat 100000 "a" }}{{ range 100000 }}{{ $_ := sha512sum $x }}{{ end }}`: "x:1:57: " + late,
		`{{ range 9000000 }}{{ $_ := upper "a" }}{{ end }}`:                                "x:1:29: " + late,
	} {
		tmpl, err := templates.ParseGo(source, diag.WholeFile("x"), templates.Delims{})
		require.NoError(t, err)
		_, err = tmpl.Render(templatetest.Expiring(t.Context(), 20), templatetest.Host(nil))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, want)
	}
}

func TestExpandEnvironmentIsBounded(t *testing.T) {
	env := &templates.Env{Environ: map[string]any{"X": strings.Repeat("x", 1000)}}
	_, err := templatetest.RenderGo(t, `{{ expandenv (repeat 20000 "$X") }}`, env)
	require.EqualError(t, err, "motd.tmpl:1:4: expandenv: the text grows beyond 16 MiB")
	_, err = templatetest.RenderGo(t, `{{ env "X" }}`, &templates.Env{Facts: map[string]any{}})
	require.EqualError(t, err, "motd.tmpl:1:4: \"Environ\" is not available here\n  hint: available: Facts")
}

// FuzzSprig calls functions with hostile texts and numbers.
func FuzzSprig(f *testing.F) {
	names := slices.Sorted(maps.Keys(gotemplate.AllFunctions()))
	for i, payload := range templatetest.Payloads() {
		f.Add(uint(i), payload, "2006", int64(i), 1.5)
	}
	for i := range names {
		f.Add(uint(i), "a,b", ",", int64(3), -0.5)
	}
	f.Fuzz(func(t *testing.T, which uint, a, b string, n int64, x float64) {
		name := names[which%uint(len(names))]
		pool := []any{a, b, n, x, []any{a, n}, map[string]any{a: b, b: []any{x}}, time.Unix(n%1e10, 0), a == b, nil}
		for shift := range pool {
			r, err := render.Begin(templatetest.Expiring(t.Context(), 1000), &templates.Env{Environ: map[string]any{a: b}, Facts: map[string]any{a: n}})
			require.NoError(t, err)
			g := &gotemplate.Run{Run: r, Dot: map[string]any{}}
			least, most := gotemplate.Arity(gotemplate.AllFunctions()[name].Params)
			args := fitting(gotemplate.AllFunctions()[name].Params, pool, shift, max(least, most))
			out, err := g.Invoke(name, args)
			if s, isText := out.(string); isText && err == nil {
				require.LessOrEqual(t, len(s), templates.MaxOutput)
			}
		}
	})
}

// fitting picks n arguments of the kinds that a function declares from a pool, if there are any.
func fitting(params string, pool []any, shift, n int) []any {
	letters := strings.TrimRight(params, "*?")
	args := make([]any, n)
	for i := range args {
		args[i] = pool[(shift+i)%len(pool)]
		for j := range pool {
			v := pool[(shift+i+j)%len(pool)]
			if _, want := gotemplate.Argument(letters[min(i, len(letters)-1)], v); want == "" {
				args[i] = v
				break
			}
		}
	}
	return args
}

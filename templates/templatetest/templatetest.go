// Package templatetest has helpers for the tests of templates and the packages below: a host, a folder of a play,
// hostile values.
package templatetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
)

// Open makes a folder of a play.
func Open(tb testing.TB, content map[string]string) *templates.Files {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
	}
	files, err := templates.Open(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { files.Close() })
	return files
}

// Host returns one host.
func Host(files *templates.Files) *templates.Env {
	return &templates.Env{
		Facts: map[string]any{
			"host": map[string]any{"info": map[string]any{"os": "linux", "platformVersion": "12.11"}},
			"network": map[string]any{"interfaces": []any{
				map[string]any{"name": "lo", "mtu": int64(65536)},
				map[string]any{"name": "eth0", "mtu": int64(1500)},
			}},
		},
		Data: map[string]any{
			"name": "web", "port": int64(8080), "ratio": 1.5, "whole": 2.0, "on": true, "off": false, "nothing": nil, "empty": "",
			"list":   []any{"a", "b", "c"},
			"nested": map[string]any{"port": int64(80), "a.b": "dotted", "with space": "s"},
			"users":  []any{map[string]any{"name": "ann", "id": int64(1)}, map[string]any{"name": "bob", "id": int64(2)}},
			"big":    1e21, "max": int64(9223372036854775807), "huge": 12345678901234567890.0, "tiny": 1e-9,
			"secret": "hunter2",
		},
		Environ: map[string]any{"HOME": "/root", "LANG": "C"},
		Files:   files,
	}
}

// Manifest is the position of the texts in [Eval].
var Manifest = templates.Position{File: "site.yaml", Line: 7, Column: 12}

// ErrorText returns the text of an error, "" for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Eval parses and evaluates a text.
func Eval(tb testing.TB, source string, env *templates.Env) (any, error) {
	tb.Helper()
	text, err := templates.Parse(source, Manifest)
	if err != nil {
		return nil, err
	}
	return text.Eval(tb.Context(), env)
}

// Document parses one YAML document.
func Document(tb testing.TB, source string) *yamlpos.Node {
	tb.Helper()
	docs, err := yamlpos.Parse("data.yaml", []byte(source))
	require.NoError(tb, err)
	require.Len(tb, docs, 1)
	return docs[0]
}

// A countdown is a context that expires after a number of checks: a deadline without a clock.
type countdown struct {
	context.Context
	left int
}

// Expiring returns a context that expires after a number of checks: a deadline without a clock.
func Expiring(ctx context.Context, looks int) context.Context { return &countdown{ctx, looks} }

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// HostileHost returns a host whose facts hold value, itself and as JSON.
func HostileHost(value string) *templates.Env {
	env := Host(nil)
	env.Facts["evil"] = value
	var parsed any
	if json.Unmarshal([]byte(value), &parsed) == nil {
		env.Facts["json"] = parsed
	}
	return env
}

// CheckFuzzed checks the result of one rendering: an error has a text and no output, and no error contains a value of
// the data.
func CheckFuzzed(t *testing.T, source, value string, out any, err error) {
	if err == nil {
		return
	}
	require.NotEmpty(t, err.Error())
	require.Empty(t, out)
	if !strings.Contains(source, "hunter") && !strings.Contains(value, "hunter") {
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// JetFolder returns Jet templates that need each other, by their paths.
func JetFolder() map[string]string {
	return map[string]string{
		"part.jet":       "part[[ if isset(.name) ]] of [[ .name ]][[ end ]]",
		"dir/inner.jet":  "inner+[[ include \"other.jet\" ]]",
		"dir/other.jet":  "other",
		"layout.jet":     "<[[ block body() ]]empty[[ end ]]>",
		"blocks.jet":     "[[ block greet(who=\"you\") ]]hi [[ who ]][[ end ]]",
		"value.jet":      "[[ return Data.port + 1 ]]",
		"self.jet":       "x[[ include \"self.jet\" ]]",
		"loop.jet":       "[[ jet(\"loop.jet\") ]]",
		"extends.jet":    "[[ extends \"extends.jet\" ]]",
		"a.jet":          "[[ import \"b.jet\" ]]",
		"b.jet":          "[[ import \"a.jet\" ]]",
		"badinclude.jet": "line one\n  [[ Data.nope ]]",
		"badsyntax.jet":  "line one\n[[ if ]]",
		"plain.txt":      "<b> \x00\xff & \"quotes\"\n",
		"expr.templ":     "port {{ Data.port }}",
	}
}

// Source parses data, hierarchy and overrides of a YAML document.
func Source(tb testing.TB, source string) (templates.Source, error) {
	doc := Document(tb, source)
	return templates.ParseSource(templates.Parts{Data: doc.Get("data"), Hierarchy: doc.Get("hierarchy"), Overrides: doc.Get("overrides")})
}

// RenderGo renders a Go template.
func RenderGo(tb testing.TB, source string, env *templates.Env) (string, error) {
	tb.Helper()
	t, err := templates.ParseGo(source, diag.WholeFile("motd.tmpl"), templates.Delims{})
	if err != nil {
		return "", err
	}
	return t.Render(tb.Context(), env)
}

// WrappedJet has a block that yields its content, fails after that if bad is set, and is executed once without a
// content.
const WrappedJet = `[[ block wrap(bad=false) ]]<[[ yield content ]][[ bad ? Data.missing : "" ]]>[[ end ]]`

// FailingJet returns templates that end in the block of [WrappedJet], after they have yielded a value of the host's
// own.
func FailingJet() map[string]string {
	return map[string]string{
		"failed": WrappedJet + `[[ if Data.filled ]][[ yield wrap(bad=true) content ]][[ Data.secret ]][[ end ]][[ end ]]`,
		"caught": WrappedJet + `[[ if Data.filled ]][[ try ]][[ yield wrap(bad=true) content ]][[ Data.secret ]][[ end ]][[ end ]][[ end ]]`,
	}
}

// Payloads returns values in the syntax of many template engines, shells and formats, as a hostile host could send
// them.
func Payloads() []string {
	cores := []string{
		"7*7", "Data.secret", "lookup('data.secret')", `lookup("data.secret")`, "file('/etc/passwd')", `file("secret.txt")`,
		"template('x.templ')", "jet('x.jet')", "Environ.HOME", "$env", "range Data", "end", "include \"x.jet\"", "exec(\"x\")",
		"self.__init__.__globals__", "config.items()", "''.class.mro()[2]", "constructor.constructor('return 1')()",
	}
	wraps := []string{"{{%s}}", "{{ %s }}", "[[%s]]", "[[ %s ]]", "${%s}", "${{%s}}", "{%% %s %%}", "<%%= %s %%>", "#{%s}", "$(%s)", "`%s`"}
	var list []string
	for _, wrap := range wraps {
		for _, core := range cores {
			list = append(list, fmt.Sprintf(wrap, core))
		}
	}
	return append(list,
		"", " ", "{{", "}}", "[[", "]]", "${", "}", "{{{{", "}}}}", "[[[[", "]]]]", "{*", "*}", "{* x *}", "{# x #}", "<%", "%>",
		"{{ '{{ Data.secret }}' }}", "${'${Data.secret}'}", "[[ \"[[ Data.secret ]]\" ]]", "{{ [[ ${ Data.secret } ]] }}",
		"{{\nData.secret\n}}", "{{\r\n7*7\r\n}}", "\n[[ 7*7 ]]\n", "a\x00b{{7*7}}", "\x1b[31m{{7*7}}", "\\{{7*7}}", "\\\\${7*7}",
		"{{ 7*7", "7*7 }}", "[[ if true ]]x", "[[ end ]]", "[[- 7*7 -]]", "{{- 7*7 -}}", "{\u200b{7*7}}", "\uff5b\uff5b7*7\uff5d\uff5d",
		"\u202e{{7*7}}", "é{{ü}}", "\U0001f600${7*7}", "\u2028[[7*7]]\u2029", "'; DROP TABLE x; --", "' || '1'=='1", `" + Data.secret + "`,
		"%s%n%d%v%!", "&lt;&amp;<b>\"'", "../../etc/passwd", "/etc/passwd", "x.templ", "x.jet", "data.secret", "facts.#", "@pretty", "*",
		"!!python/object:os.system", "- a: &x [*x]", "{\"a\": 1}", "[1,2]", "null", "true", "0644", "1e999", "NaN", strings.Repeat("{{", 200),
		strings.Repeat("[[", 200), strings.Repeat("${", 200), strings.Repeat("{{7*7}}", 50),
	)
}

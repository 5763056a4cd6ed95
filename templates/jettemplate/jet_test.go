package jettemplate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// An errorCase is a source and its expected error.
type errorCase struct{ source, want string }

// renderJet renders a Jet template that is the whole file motd.jet.
func renderJet(tb testing.TB, source string, env *templates.Env) (string, error) {
	tb.Helper()
	t, err := templates.ParseJet(source, diag.WholeFile("motd.jet"), templates.Delims{}, env.Files)
	if err != nil {
		return "", err
	}
	return t.Render(tb.Context(), env)
}

func jetCases() []errorCase { // source, output
	return []errorCase{
		{"", ""},
		{"plain {{ Data.x }} ${y}", "plain {{ Data.x }} ${y}"},
		{"[[ Data.name ]] [[ data.port ]] [[ Facts.host.info.os ]] [[ facts.host.info.os ]] [[ Environ.HOME ]]", "web 8080 linux linux /root"},
		{"[[ Data.ratio ]] [[ Data.whole ]] [[ Data.big ]] [[ Data.on ]]", "1.5 2 1e+21 true"},
		{`[[ Data["name"] ]] [[ Data.list[1] ]] [[ Data.nested["with space"] ]]`, "web b s"},
		{"[[ Data.users[0].name ]]", "ann"},
		{"a\n[[- \" b \" -]]\nc", "a b c"},
		{"[[ range i, x := Data.list ]][[ i ]][[ x ]] [[ end ]]", "0a 1b 2c "},
		{"[[ range Data.list ]]<[[ . ]]>[[ end ]]", "<a><b><c>"},
		{"[[ range _, item := Data.list ]][[ item ]][[ end ]]", "abc"},
		{"[[ range Data.users ]][[ .name ]][[ .id ]] [[ end ]]", "ann1 bob2 "},
		{"[[ range k, v := Data.nested ]][[ k ]]=[[ v ]];[[ end ]]", "a.b=dotted;port=80;with space=s;"},
		{"[[ range slice() ]]x[[ else ]]none[[ end ]]", "none"},
		{"[[ range i := ints(1, 4) ]][[ i ]]-[[ . ]] [[ end ]]", "0-1 1-2 2-3 "},
		{"[[ range _, n := ints(1, 4) ]][[ n ]][[ end ]]", "123"},
		{"[[ if Data.on ]]on[[ else ]]off[[ end ]] [[ if Data.off ]]on[[ else if Data.port > 80 ]]high[[ end ]]", "on high"},
		{"[[ if isset(Data.nope) ]]set[[ else ]]unset[[ end ]] [[ isset(Data.port, Data.nested.port) ]] [[ isset(Data.nothing) ]] [[ isset(nope) ]] [[ isset(Data.nope.deeper[3]) ]]",
			"unset true false false false"},
		{"[[ Data.nope == nil ]] [[ Data.nope != nil ]] [[ nil == Data.nope ]] [[ Data.name == nil ]] [[ Data.nothing != nil ]]", "true false true false false"},
		{`[[ Data["nope"] == nil ]] [[ Data.nested["a.b"] == nil ]] [[ Data.nested.nope == nil ]] [[ Facts.nope == nil ]]`, "true false true true"},
		{`[[ if Data.nope != nil && Data.nope > 3 ]]high[[ else ]]low[[ end ]][[ range Data.users ]] [[ .nick == nil ? .name : .nick ]][[ end ]]`, "low ann bob"},
		{`[[ v, ok := Data["nope"]; ok ]] [[ w, ok2 := Data["port"]; ok2 ]] [[ w ]]`, "false true 8080"},
		{"[[ x := 1 ]][[ x = x + 1 ]][[ x ]]", "2"},
		{"[[ Data.port + 1 ]] [[ 7 / 2.0 ]] [[ 7 % 4 ]] [[ -3 ]] [[ \"a\" + 1 ]] [[ !Data.on ]] [[ Data.port == 8080 ]] [[ Data.nothing == nil ]]", "8081 3.5 3 -3 a1 false true true"},
		{`[[ Data.on && Data.off || true ? "yes" : "no" ]]`, "yes"},
		{"[[ Data.name[0:2] ]] [[ len(Data.list[1:]) ]]", "we 2"},
		{`[[ Data.name | upper ]] [[ upper(Data.name) ]] [[ "a-b" | replace: "-", "+", -1 ]] [[ "-" | replace("a-b", _, "+", -1) ]]`, "WEB WEB a+b a+b"},
		{`[[ Data.port | upper ]] [[ len("héé") ]] [[ len(Data.nested) ]] [[ repeat("ab", 3) ]] [[ trimSpace("  x ") ]]`, "8080 5 3 ababab x"},
		{`[[ split("a,b", ",")[1] ]] [[ hasPrefix("abc", "a") ]] [[ hasSuffix("abc", "a") ]] [[ lower("ABC") ]]`, "b true false abc"},
		{`[[ m := map("a", 1, "b", "x") ]][[ m.a ]][[ m.b ]] [[ json(m) ]] [[ json("<&>") ]] [[ slice(1, "a")[1] ]]`, `1x {"a":1,"b":"x"} "<&>" a`},
		{`[[ Data.list | writeJson ]]`, "[\"a\",\"b\",\"c\"]\n"},
		{`[[ html("<&>") ]] [[ url("a b&") ]] [[ "<&>" | raw ]] [[ "<&>" | unsafe ]] [[ "<&>" | safeHtml ]] [[ safeJs("<") ]]`, `&lt;&amp;&gt; a+b%26 <&> <&> &lt;&amp;&gt; \u003C`},
		{`[[ lookup("data.port") ]] [[ lookup("data.nope", "dflt") ]] [[ lookup("data.list.#") ]] [[ lookup("data.nope", 5) + 1 ]]`, "8080 dflt 3 6"},
		{`[[ file("plain.txt") ]]`, "<b> \x00\xff & \"quotes\"\n"},
		{`[[ template("expr.templ") ]] [[ template("{{ Data.port + 1 }}") ]] [[ jet("dir/other.jet") ]] [[ jet("<< Data.port >>", "<<", ">>") ]]`, "port 8080 8081 other 8080"},
		{`[[ include "part.jet" ]]|[[ include "part" Data.users[1] ]]|[[ include "dir/inner.jet" ]]`, "part|part of bob|inner+other"},
		{`[[ extends "layout.jet" ]][[ block body() ]]mine [[ Data.port ]][[ end ]]`, "<mine 8080>"},
		{`[[ import "blocks.jet" ]][[ yield greet() ]] [[ yield greet(who=Data.name) ]]`, "hi you hi web"},
		{`[[ block wrap() ]](yes [[ yield content ]])[[ content ]]inner[[ end ]]`, "(yes inner)"},
		{`[[ exec("value.jet") ]] [[ includeIfExists("part.jet") ]] [[ includeIfExists("nope.jet") ]][[ if includeIfExists("nope.jet") ]]no[[ end ]]`, "8081 part "},
		{`[[ try ]]a[[ Data.nope ]]b[[ catch ]]caught[[ end ]]|[[ try ]]fine[[ end ]]`, "caught|fine"},
		{`[[ try ]][[ Data.nope ]][[ catch err ]][[ err ]][[ end ]]`, "motd.jet:1:13: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"{* a comment [[ Data.nope ]] *}x", "x"},
		{`[[ upper := "shadow" ]][[ upper ]]`, "shadow"},
		{`[[ file(Facts.host.info.os == "linux" ? "plain.txt" : "nope") | len ]]`, "18"},
		{`[[ "[[ Data.port ]]" ]]`, "[[ Data.port ]]"},
	}
}

func TestJet(t *testing.T) {
	env := templatetest.Host(templatetest.Open(t, templatetest.JetFolder()))
	for _, c := range jetCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := renderJet(t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestJetEscapesNothing(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x300; r++ {
		all.WriteRune(r)
	}
	all.WriteString("&<>\"'`\u2028\u2029\ufeff\U0001f600\xff\xfe")
	env := &templates.Env{Data: map[string]any{"all": all.String(), "map": map[string]any{all.String(): int64(1)}}}
	got, err := renderJet(t, "[[ Data.all ]]|[[ lookup(\"data.all\") ]]|[[ range k, _ := Data.map ]][[ k ]][[ end ]]", env)
	require.NoError(t, err)
	require.Equal(t, all.String()+"|"+all.String()+"|"+all.String(), got)
}

func jetErrorCases() []errorCase {
	hostile := ": file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""
	literal := " must be a fixed text or file name, not a computed value\n  hint: write the file name or the template text directly, in quotes"
	return []errorCase{
		{"a\n\n [[ nope ]]", "motd.jet:3:5: identifier \"nope\" is not defined\n  hint: defined names: Data, Environ, Facts, Groups, Host, Hosts, Item, Outer and 3 more"},
		{"[[ Dat.name ]]", "motd.jet:1:4: identifier \"Dat\" is not defined\n  hint: did you mean \"Data\"?"},
		{"[[ if Data.off ]][[ size := 1 ]][[ end ]][[ sise ]]", "motd.jet:1:45: identifier \"sise\" is not defined\n  hint: did you mean \"size\"?"},
		{"[[ if Data.off ]][[ size := 1 ]][[ end ]][[ size ]]", "motd.jet:1:45: identifier \"size\" is not defined\n  hint: defined names: Data, Environ, Facts, Groups, Host, Hosts, Item, Outer and 3 more"},
		{"[[ Data.zzzzzzzz ]]", "motd.jet:1:4: missing key \"Data.zzzzzzzz\"\n" +
			"  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.zzzzzzzz)"},
		{"[[ Data.nested.prot.x ]]", "motd.jet:1:4: missing key \"Data.nested.prot\"\n  hint: did you mean \"port\"? to test whether the key exists, write isset(Data.nested.prot)"},
		{`[[ Data["nested"]["prot"] ]]`, "motd.jet:1:4: missing key \"Data[\\\"nested\\\"][\\\"prot\\\"]\"\n  hint: did you mean \"port\"? to test whether the key exists, write isset(Data[\"nested\"][\"prot\"])"},
		{"[[ Data.nope.deeper == nil ]]", "motd.jet:1:4: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"[[ Data.name.x == nil ]]", "motd.jet:1:4: Data.name.x: a string has no keys"},
		{"[[ Data.list[9] == nil ]]", "motd.jet:1:4: Data.list[9]: the list has only 3 elements\n  hint: to test whether the key exists, write isset(Data.list[9])"},
		{"[[ Data.nope == 5 ]]", "motd.jet:1:4: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"[[ nope == nil ]]", "motd.jet:1:4: identifier \"nope\" is not defined\n  hint: defined names: Data, Environ, Facts, Groups, Host, Hosts, Item, Outer and 3 more"},
		{"[[ if Data.nope ]]x[[ end ]]", "motd.jet:1:7: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"[[ range Data.users ]][[ .nick ]][[ end ]]", "motd.jet:1:26: missing key \".nick\"\n  hint: it has id, name; to test whether the key exists, write isset(.nick)"},
		{"[[ range Data.nope ]]x[[ end ]]", "motd.jet:1:10: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"[[ .name ]]", "motd.jet:1:4: no context here\n  hint: use Data, Facts or a variable"},
		{"[[ Data.nothing ]]", "motd.jet:1:4: nil in a text\n  hint: isset(…) tests for it, or give a default"},
		{"[[ Data.list ]]", "motd.jet:1:4: a list in a text\n  hint: use \"range\", or json(…)"},
		{"[[ Data.nested | raw ]]", "motd.jet:1:18: raw: argument 1 must be a string, not a map"},
		{"[[ ints(1, 3) ]]", "motd.jet:1:4: a range in a text\n  hint: use \"range\""},
		{"[[ Data.name.x ]]", "motd.jet:1:4: Data.name.x: a string has no keys"},
		{"[[ Item ]]", "motd.jet:1:4: \"Item\" is not available here: only resources with the key \"each\" have an item\n  hint: available: Facts, Data, Environ"},
		{"[[ range Data.name ]][[ end ]]", "motd.jet:1:10: cannot range over a string"},
		{"[[ range Data.nothing ]][[ end ]]", "motd.jet:1:10: cannot range over nil"},
		{"[[ Data.port / (Data.port - 8080) ]]", "motd.jet:1:4: division by zero in \"Data.port / Data.port - 8080\""},
		{"[[ Data.port % 0 ]]", "motd.jet:1:4: division by zero in \"Data.port % 0\""},
		{"[[ Data.port + Data.secret ]]", "motd.jet:1:4: the two sides of \"Data.port + Data.secret\" do not fit together"},
		{"[[ Data.nested * 2 ]]", "motd.jet:1:4: the two sides of \"Data.nested * 2\" do not fit together"},
		{"[[ Data.secret > 2 ]]", "motd.jet:1:4: the two sides of \"Data.secret > 2\" do not fit together"},
		{"[[ Data.list[1:9] ]]", "motd.jet:1:4: \"Data.list[1:9]\" cannot be evaluated with these values"},
		{"[[ Data.list[9] ]]", "motd.jet:1:4: Data.list[9]: the list has only 3 elements\n  hint: to test whether the key exists, write isset(Data.list[9])"},
		{"[[ uper(Data.name) ]]", "motd.jet:1:4: function \"uper\" is not defined\n  hint: did you mean \"upper\"?"},
		{"[[ dump() ]]", "motd.jet:1:4: function \"dump\" is not defined\n  hint: functions: array, exec, file, hasPrefix, hasSuffix, html, includeIfExists, ints, isset, jet, json, kvGet, len, lookup, lower, map, raw, " +
			"readFile, registrations, repeat, replace, safeHtml, safeJs, slice, split, template, trimSpace, unsafe, upper, url, writeJson"},
		{"[[ Data.name() ]]", `motd.jet:1:4: "Data.name" is not a function`},
		{"[[ upper ]]", "motd.jet:1:4: \"upper\" is a function\n  hint: call it: upper(…)"},
		{"[[ upper() ]]", `motd.jet:1:4: "upper" takes 1 arguments, not 0`},
		{"[[ upper(Data.list) ]]", "motd.jet:1:4: upper: argument 1 must be a string, not a list"},
		{"[[ len(Data.port) ]]", "motd.jet:1:4: len: an integer has no length"},
		{"[[ lookup() ]]", `motd.jet:1:4: "lookup" takes a path and perhaps a default, not 0 arguments`},
		{"[[ lookup(\"data.nope\") ]]", "motd.jet:1:4: missing key \"data.nope\"\n  hint: data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write lookup(\"data.nope\", DEFAULT)"},
		{"[[ Data.port = 5 ]]", "motd.jet:1:4: \"Data.port\" cannot be assigned to\n  hint: a template changes its own variables only"},
		{"[[ m := Data.nested ]][[ m.port = 5 ]]", "motd.jet:1:26: \"m.port\" cannot be assigned to\n  hint: a template changes its own variables only"},
		{"[[ nope = 5 ]]", "motd.jet:1: the variable \"nope\" is not declared\n  hint: declare it with := first"},
		{"[[ yield nope() ]]", "motd.jet:1: the block \"nope\" is not defined"},
		{"[[ repeat(\"x\", 99999999) ]]", "motd.jet:1:4: repeat: the text grows beyond 16 MiB"},
		{"[[ s := \"xxxxxxxxxxxxxxxx\" ]][[ range ints(0, 60) ]][[ s = s + s ]][[ end ]]", "motd.jet:1:60: the text grows beyond 16 MiB"},
		{"[[ range ints(0, 99999999) ]]xxxxxxxxxxxxxxxxxxxxxxxx[[ end ]]", "motd.jet:1:30: the text grows beyond 16 MiB"},
		{"[[ try ]][[ range ints(0, 99999999) ]]xxxxxxxxxxxxxxxxxxxxxxxx[[ end ]][[ catch ]]hidden[[ end ]]", "motd.jet:1:39: the text grows beyond 16 MiB"},
		{"[[ block b() ]][[ yield b() ]][[ end ]]", "motd.jet:1:10: block \"b\" yields more than 1000 levels deep"},
		{"[[ include \"self.jet\" ]]", "self.jet:1:13: templates render each other more than 20 levels deep: … self.jet → self.jet → self.jet → self.jet"},
		{"[[ jet(\"loop.jet\") ]]", "loop.jet:1:4: templates render each other more than 20 levels deep: … loop.jet → loop.jet → loop.jet → loop.jet"},
		{"[[ include \"extends.jet\" ]]", "extends.jet:1: extends.jet extends or imports itself: extends.jet → extends.jet"},
		{"[[ include \"a.jet\" ]]", "b.jet:1: a.jet extends or imports itself: a.jet → b.jet → a.jet"},
		{"[[ include \"badinclude.jet\" ]]", "badinclude.jet:2:6: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"[[ include \"badsyntax.jet\" ]]", "badsyntax.jet:2: parsing if: unexpected ']]' (expected term)"},
		{"[[ include Data.name ]]", "motd.jet:1:12: the argument of \"include\"" + literal},
		{"[[ exec(Data.name) ]]", "motd.jet:1:9: the argument of \"exec\"" + literal},
		{"[[ includeIfExists(Data.name) ]]", "motd.jet:1:20: the argument of \"includeIfExists\"" + literal},
		{"[[ template(Data.name) ]]", "motd.jet:1:13: the argument of \"template\"" + literal},
		{"[[ jet(\"a\" + \"b\") ]]", "motd.jet:1:8: the argument of \"jet\"" + literal},
		{"[[ Data.name | template ]]", "motd.jet:1:4: the argument of \"template\"" + literal},
		{"[[ x := exec ]]", "motd.jet:1:9: \"exec\" is a function\n  hint: call it: exec(…)"},
		{"[[ file(Facts.host.info.os) ]]", "motd.jet:1:4" + hostile},
		{"[[ file(lookup(\"facts.host.info.os\")) ]]", "motd.jet:1:4" + hostile},
		{"[[ p := facts.host.info.os ]][[ q := p ]][[ file(\"x\" + q) ]]", "motd.jet:1:45" + hostile},
		{"[[ range Facts.network.interfaces ]][[ file(.name) ]][[ end ]]", "motd.jet:1:40" + hostile},
		{"[[ range _, i := Facts.network.interfaces ]][[ file(i.name) ]][[ end ]]", "motd.jet:1:48" + hostile},
	}
}

func TestJetErrors(t *testing.T) {
	env := templatetest.Host(templatetest.Open(t, templatetest.JetFolder()))
	for _, c := range jetErrorCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := renderJet(t, c.source, env)
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Empty(t, got)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestJetFilesErrors(t *testing.T) {
	files := templatetest.Open(t, templatetest.JetFolder())
	env := templatetest.Host(files)
	cases := []errorCase{
		{"[[ include \"nope.jet\" ]]", `motd.jet:1:12: no file "nope.jet" in ` + files.Dir()},
		{"[[ include \"../../nope.jet\" ]]", `motd.jet:1:12: no file "nope.jet" in ` + files.Dir()},
		{"\n[[ file(\"nope\") ]]", `motd.jet:2:4: no file "nope" in ` + files.Dir()},
		{"[[ extends \"nope.jet\" ]]", "motd.jet:1: template /nope.jet could not be found"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			_, err := renderJet(t, c.source, env)
			require.EqualError(t, err, c.want)
		})
	}
}

func jetSyntaxCases() []errorCase {
	return []errorCase{
		{"[[ if Data.on ]]x", "motd.jet:1: unexpected end of the template: an end is missing"},
		{"\n[[ Data.name", "motd.jet:2: unclosed action"},
		{"[[ end ]]", "motd.jet:1: unexpected end"},
		{"[[ 'a ]]", "motd.jet:1: unterminated character constant"},
		{"{* x [[ 1 ]]", "motd.jet:1: unclosed comment"},
		{"[[ " + strings.Repeat("(", 6000), "motd.jet:1:1: an expression with more than 1000 parentheses and operators"},
		{strings.Repeat("x", render.MaxTemplate+1), "motd.jet:1:1: a template of more than 1 MiB"},
	}
}

func TestJetEnds(t *testing.T) {
	sources := []string{
		"[[ range ints(0, 9000000000) ]][[ end ]]",
		"[[ range ints(0, 9000000000) ]][[ try ]][[ Data.nope ]][[ end ]][[ end ]]",
		"[[ range ints(0, 9000000000) ]][[ isset(Data.nope) ? \"\" : \"\" ]][[ end ]]",
		"[[ block b() ]][[ range ints(0, 900) ]][[ try ]][[ yield b() ]][[ end ]][[ end ]][[ end ]]",
	}
	for _, source := range sources {
		t.Run(source, func(t *testing.T) {
			tmpl, err := templates.ParseJet(source, diag.WholeFile("motd.jet"), templates.Delims{}, nil)
			require.NoError(t, err)
			got, err := tmpl.Render(templatetest.Expiring(t.Context(), 50), templatetest.Host(nil))
			require.Empty(t, got)
			require.Error(t, err)
			if !strings.Contains(err.Error(), "levels deep") {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		})
	}
}

func TestJetSyntaxErrors(t *testing.T) {
	for _, c := range jetSyntaxCases() {
		t.Run(c.want, func(t *testing.T) {
			_, err := templates.ParseJet(c.source, diag.WholeFile("motd.jet"), templates.Delims{}, nil)
			require.Equal(t, c.want, templatetest.ErrorText(err))
		})
	}
}

func TestJetDoesNotChangeData(t *testing.T) {
	env := templatetest.Host(nil)
	before := templatetest.Host(nil).Data
	_, err := renderJet(t, "[[ x := Data.list ]][[ x = slice(1) ]][[ range _, u := Data.users ]][[ u = 5 ]][[ end ]]", env)
	require.NoError(t, err)
	require.Equal(t, before, env.Data)
}

func FuzzJet(f *testing.F) {
	for _, c := range append(jetCases(), jetErrorCases()...) {
		f.Add(c.source, "x")
	}
	for _, c := range jetSyntaxCases() {
		f.Add(c.source[:min(len(c.source), 100)], "x")
	}
	for _, payload := range templatetest.Payloads() {
		f.Add("[[ Facts.evil ]]", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := templates.ParseJet(source, diag.WholeFile("fuzz.jet"), templates.Delims{}, nil)
		if err != nil {
			templatetest.CheckFuzzed(t, source, value, nil, err)
			return
		}
		tmpl.Facts(nil)
		out, err := tmpl.Render(templatetest.Expiring(t.Context(), 2000), templatetest.HostileHost(value))
		templatetest.CheckFuzzed(t, source, value, out, err)
	})
}

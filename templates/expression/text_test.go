package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

type valueCase struct {
	source string
	want   any
}

func valueCases() []valueCase {
	return []valueCase{
		// Types are preserved where the text is one expression.
		{"{{ Data.name }}", "web"},
		{"${Data.port}", int64(8080)},
		{"{{ Data.ratio }}", 1.5},
		{"{{ Data.whole }}", int64(2)},
		{"{{ Data.on }}", true},
		{"{{ Data.nothing }}", nil},
		{"{{ Data.empty }}", ""},
		{"{{ Data.list }}", []any{"a", "b", "c"}},
		{"{{ Data.nested }}", map[string]any{"port": int64(80), "a.b": "dotted", "with space": "s"}},
		{"{{ 1..3 }}", []any{int64(1), int64(2), int64(3)}},
		{"{{ split('a,b', ',') }}", []any{"a", "b"}},
		{"{{ groupBy(Data.list, # == 'a') }}", map[string]any{"true": []any{"a"}, "false": []any{"b", "c"}}},
		{"{{ 10 / 4 }}", 2.5},
		{"{{ 10 / 5 }}", int64(2)},
		// Anything else is text.
		{"port=${Data.port}", "port=8080"},
		{" {{ Data.port }}", " 8080"},
		{"{{ Data.port }}{{ Data.on }}", "8080true"},
		{"${Data.ratio} ${Data.whole} ${Data.big} ${Data.max} ${Data.tiny}", "1.5 2 1e+21 9223372036854775807 1e-09"},
		{"plain", "plain"},
		{"", ""},
		{"{{ unterminated", "{{ unterminated"},
		{"${{ Data.port }}", "$8080"},
		{"${ '${HOME}' }", "${HOME}"},
		// Keys.
		{"{{ Facts.host.info.os }}", "linux"},
		{`{{ Facts["host"]["info"].os }}`, "linux"},
		{`{{ Data.nested["with space"] }}`, "s"},
		{"{{ Data.list[0] }}{{ Data.list[-1] }}", "ac"},
		{"{{ Data.users[1].name }}", "bob"},
		{"{{ Environ.HOME }}", "/root"},
		{"{{ 'name' in Data }} {{ 'nope' in Data }}", "true false"},
		{"{{ keys(Data.nested) }}", []any{"a.b", "port", "with space"}}, // in order, unlike Go's
		{"{{ values(Data.nested) }}", []any{"dotted", int64(80), "s"}},
		{"{{ toPairs(Data.nested) }}", []any{[]any{"a.b", "dotted"}, []any{"port", int64(80)}, []any{"with space", "s"}}},
		{"{{ toPairs(Data.nested) | fromPairs() | toPairs() | map(#[0]) | join('+') }}", "a.b+port+with space"},
		{"{{ groupBy(1..12, #) | keys() | join(' ') }}", "1 2 3 4 5 6 7 8 9 10 11 12"},
		{"{{ compareVersions('1.10', '1.9') }}", int64(1)},
		{"{{ compareVersions('1.20.3', '1.20') >= 0 }}", true},
		{"{{ map(['1.0', '1.00', '01.0', '1', '2', '1.0rc1', '1.0a', 'v1.0'], # startsWith 'v' ? '' : string(compareVersions(#, '1.0'))) | join(' ') }}", "0 0 0 -1 1 1 1 "},
		{"{{ compareVersions(8, '10') }} {{ compareVersions('', '') }}", "-1 0"},
		// Defaults.
		{"{{ Data.nope ?? 5 }}", int64(5)},
		{"{{ Data.nope.deeper.still ?? 'x' }}", "x"},
		{"{{ Data.nothing ?? 'x' }}", "x"},
		{"{{ Data.empty ?? 'x' }}", ""},
		{"{{ Data.list[9] ?? 'x' }}", "x"},
		{"{{ Data?.nope }}", nil},
		{"{{ Data.nested?.nope?.deeper }}", nil},
		{"{{ Data.nested?.nope.deeper }}", nil},
		{"{{ (Data?.nope) ?? 'x' }}", "x"},
		{"{{ Data.nope ?? Data.alsonope ?? 'x' }}", "x"},
		{"{{ map(Data.users, .nick ?? .name) }}", []any{"ann", "bob"}},
		// Whether there is a key.
		{"{{ Data.nope == nil }} {{ Data.nope != nil }}", "true false"},
		{"{{ nil == Data.nope }} {{ nil != Data.nope }}", "true false"},
		{"{{ Data.name == nil }} {{ Data.name != nil }} {{ Data.empty == nil }}", "false true false"},
		{"{{ Data.nothing == nil }} {{ Data.nothing != nil }}", "true false"},
		{`{{ Data["nope"] == nil }} {{ Data.nested["a.b"] != nil }}`, "true true"},
		{"{{ Facts.nope == nil }} {{ Environ.NOPE == nil }}", "true true"},
		{"{{ (Data.nope) != nil ? Data.nope : 'none' }}", "none"},
		{"{{ Data.nope != nil && Data.nope > 3 }}", false},
		{"{{ !(Data.nested.nope == nil) }}", false},
		{"{{ Data?.nope.deeper == nil }} {{ Data?.nope == nil }}", "true true"},
		{"{{ filter(Data.users, .nick == nil) | map(.name) | join(' ') }}", "ann bob"},
		{"{{ let d = Data; d.nope == nil }}", true},
		// lookup.
		{"{{ lookup('facts.host.info.os') }}", "linux"},
		{"{{ lookup('data.port') }}", int64(8080)},
		{"{{ lookup('data.ratio') }}", 1.5},
		{"{{ lookup('data.big') }}", 1e21},
		{"{{ lookup('data.huge') }}", 12345678901234567890.0},
		{"{{ lookup('data.max') }}", int64(9223372036854775807)},
		{"{{ lookup('data.nope', 'dflt') }}", "dflt"},
		{"{{ lookup('data.nope', 0) }}", int64(0)},
		{"{{ lookup('data.empty', 'dflt') }}", ""},
		{"{{ lookup('data.nothing', 'dflt') }}", nil},
		{"{{ lookup('data.list.1') }}", "b"},
		{"{{ lookup('data.list.#') }}", int64(3)},
		{"{{ lookup('data.list.9', 'none') }}", "none"},
		{`{{ lookup('data.nested.a\\.b') }}`, "dotted"},
		{`{{ lookup("data.nested.with space") }}`, "s"},
		{`{{ lookup('data.users.#(name=="bob").id') }}`, int64(2)},
		{`{{ lookup('data.users.#.name') }}`, []any{"ann", "bob"}},
		{`{{ lookup('facts.network.interfaces.#(mtu<2000)#.name') }}`, []any{"eth0"}},
		{`{{ lookup('data.list|@reverse') }}`, []any{"c", "b", "a"}},
		{`{{ lookup('data.hu*') }}`, 12345678901234567890.0},
		{"{{ lookup('environ.LANG') }}", "C"},
		{"{{ lookup('data.nested') }}", map[string]any{"port": int64(80), "a.b": "dotted", "with space": "s"}},
		// Functions of the language, and those we replace.
		{"{{ upper(Data.name) }}", "WEB"},
		{"{{ Data.name | upper() | lower() }}", "web"},
		{"{{ len(Data.list) }}", int64(3)},
		{"{{ filter(Data.users, .id > 1) | map(.name) | join(',') }}", "bob"},
		{"{{ any(Data.list, # == 'b') ? 'yes' : 'no' }}", "yes"},
		{"{{ join(Data.list, '-') }}", "a-b-c"},
		{"{{ join(Data.list) }}", "abc"},
		{"{{ join([1, 2.5, true], ' ') }}", "1 2.5 true"},
		{"{{ replace('a.b.c', '.', '-') }}", "a-b-c"},
		{"{{ replace('a.b.c', '.', '-', 1) }}", "a-b.c"},
		{"{{ string(Data.port) + 'x' }}", "8080x"},
		{"{{ toJSON(Data.list) }}", "[\n  \"a\",\n  \"b\",\n  \"c\"\n]"},
		{"{{ toJSON('<&>') }}", `"<&>"`},
		{"{{ fromJSON('{\"a\": [1]}').a[0] }}", int64(1)},
		{"{{ duration('90s') }}", "1m30s"},
		{"{{ date('2026-01-02').Year() }}", int64(2026)},
		{"{{ let n = Data.nested; n.port + 1 }}", int64(81)},
		{"{{ int('42') }}", int64(42)},
		{"{{ sum(map(Data.users, .id)) }}", int64(3)},
		{"{{ Data.name matches '^w' }}", true},
		{"{{ sortBy(Data.users, .name, 'desc')[0].name }}", "bob"},
		{"{{ reduce(1..4, #acc * #) }}", int64(24)},
		{"{{ type(date('2026-01-02')) + string(1.0) + string(1 == 1) }}", "time.Time1true"},
		{"{{ toBase64('a') }} {{ fromJSON('12345678901234567890') }}", "YQ== 12345678901234567000"},
		{"{{ {'a': 1..2, 'b': {'c': nil}} }}", map[string]any{"a": []any{int64(1), int64(2)}, "b": map[string]any{"c": nil}}},
		{"{{ Data.name in ['web', 'db'] ? 'in' : 'out' }}", "in"},
		{"{{ Data.list[1:] }}", []any{"b", "c"}},
		{"{{ now() != nil }}", true},
		// A value that looks like a template is text.
		{"{{ '{{ Data.name }}' }}", "{{ Data.name }}"},
	}
}

func TestEval(t *testing.T) {
	env := templatetest.Host(nil)
	for _, c := range valueCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := templatetest.Eval(t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestEvalGivesACopy(t *testing.T) {
	env := templatetest.Host(nil)
	got, err := templatetest.Eval(t, "{{ Data.nested }}", env)
	require.NoError(t, err)
	got.(map[string]any)["port"] = "changed"
	require.Equal(t, int64(80), env.Data["nested"].(map[string]any)["port"])
}

func TestItem(t *testing.T) {
	env := &templates.Env{Item: map[string]any{"name": "a", "null": nil}, HasItem: true}
	got, err := templatetest.Eval(t, "{{ Item.name }}{{ lookup('item.name') }}", env)
	require.NoError(t, err)
	require.Equal(t, "aa", got)
	_, err = templatetest.Eval(t, "{{ Item.nme }}", env)
	require.EqualError(t, err, "site.yaml:7:20: missing key \"Item.nme\"\n  hint: did you mean \"name\"? if the key may be missing, write Item.nme ?? DEFAULT")
	nothing := &templates.Env{HasItem: true}
	got, err = templatetest.Eval(t, "{{ Item }}", nothing)
	require.NoError(t, err)
	require.Nil(t, got)
}

type errorCase struct{ source, want string }

func syntaxErrorCases() []errorCase {
	return []errorCase{
		{"{{ 1 + }}", `site.yaml:7:18: unexpected end in the expression "1 +"`},
		{"x: {{ 1 ** }}", `site.yaml:7:22: unexpected end in the expression "1 **"`},
		{"{{ }}", "site.yaml:7:15: an empty expression\n  hint: to write the delimiters themselves use {{ \"{{ }}\" }}"},
		{"é {{ a b }}", `site.yaml:7:19: unexpected Identifier("b") in the expression "a b"`},
		{"{{ nope }}", "site.yaml:7:15: unknown name \"nope\" in the expression \"nope\"\n" +
			"  hint: for data write Data.nope or lookup('data.nope'), for a fact Facts.…; put quotes around a text"},
		{"{{ inventory_hostname }}", "site.yaml:7:15: unknown name \"inventory_hostname\" in the expression \"inventory_hostname\"\n" +
			"  hint: write Host.name"},
		{"{{ data.port }}", "site.yaml:7:15: unknown name \"data\" in the expression \"data.port\"\n  hint: did you mean \"Data\"?"},
		{"{{ lokup('a') }}", "site.yaml:7:15: unknown name \"lokup\" in the expression \"lokup('a')\"\n  hint: did you mean \"lookup\"?"},
		{"echo ${HOME}", "site.yaml:7:19: unknown name \"HOME\" in the expression \"HOME\"\n" +
			"  hint: write a shell variable as $HOME, or as ${ '${HOME}' }"},
		{"{{ $env }}", "site.yaml:7:15: unknown name \"$env\"\n  hint: available: Facts, Data, Environ, Item, Outer, Host, Groups, Hosts, Play, Run, Results"},
		{"{{ lookup }}", "site.yaml:7:15: \"lookup\" is a function\n  hint: call it: lookup(…)"},
		{"{{ lookup() }}", `site.yaml:7:15: "lookup" takes a path and perhaps a default, not 0 arguments`},
		{"{{ lookup('a', 1, 2) }}", `site.yaml:7:15: "lookup" takes a path and perhaps a default, not 3 arguments`},
		{"{{ keys() }}", `site.yaml:7:15: invalid number of arguments (expected 1, got 0) in the expression "keys()"`},
		{"{{ join() }}", `site.yaml:7:15: wrong number of arguments for "join" in the expression "join()"`},
		{"{{ replace('a') }}", `site.yaml:7:15: wrong number of arguments for "replace" in the expression "replace('a')"`},
		{"{{ 'a' + 1 }}", `site.yaml:7:19: invalid operation: + (mismatched types string and int) in the expression "'a' + 1"`},
		{"{{ let Data = 1; Data }}", `site.yaml:7:19: cannot redeclare Data in the expression "let Data = 1; Data"`},
		{"{{ \"\\q\" }}", `site.yaml:7:17: invalid char escape in the expression "\"\\q\""`},
		{"{{ template(Data.name) }}", "site.yaml:7:29: the argument of \"template\" must be a fixed text or file name, not a computed value\n" +
			"  hint: write the file name or the template text directly, in quotes"},
		{"{{ jet('[' + '[') }}", "site.yaml:7:23: the argument of \"jet\" must be a fixed text or file name, not a computed value\n" +
			"  hint: write the file name or the template text directly, in quotes"},
		{"{{ map(Facts.list, template(#)) }}", "site.yaml:7:40: the argument of \"template\" must be a fixed text or file name, not a computed value\n" +
			"  hint: write the file name or the template text directly, in quotes"},
		{"{{ let t = template; t('x') }}", "site.yaml:7:23: \"template\" is a function\n  hint: call it: template(…)"},
		{"{{ Data.name | template() }}", "site.yaml:7:20: the argument of \"template\" must be a fixed text or file name, not a computed value\n" +
			"  hint: write the file name or the template text directly, in quotes"},
		{"{{ template() }}", "site.yaml:7:15: template: 0 arguments\n  hint: write template(\"name.templ\"), jet(\"name.jet\") or jet(\"name.jet\", \"<<\", \">>\")"},
		{"{{ template('motd.erb') }}", "site.yaml:7:15: template: \"motd.erb\" is neither a template file nor a template\n" +
			"  hint: template files end in .templ, .tmpl, .gotmpl, .jet or .j2; file(\"motd.erb\") returns the file unchanged"},
		{"{{ template('{{ 1 + }}') }}", `site.yaml:7:31: unexpected end in the expression "1 +"`},
		{"{{ jet('[[ Data. ]]') }}", "site.yaml:7:20: parsing pipeline: unexpected '.' (expected pipe or right delimiter)"},
		{"{{ file(Facts.host.name) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ file(lookup('facts.host.name')) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ file(lookup(Data.path)) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ map(Facts.list, file(#)) }}", "site.yaml:7:31: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ let p = Facts.path; file(p) }}", "site.yaml:7:35: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ filter(Data.list, 5) }}", `site.yaml:7:33: predicate should return boolean (got int) in the expression "filter(Data.list, 5)"`},
		{"{{ file(Data.x ?? Facts.y) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ file(lookup('data.x', Facts.y)) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ file(upper(Facts.y) + '.conf') }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n" +
			"  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ file('a', 'b') }}", `site.yaml:7:15: "file" takes one path, not 2 arguments`},
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range syntaxErrorCases() {
		t.Run(c.source, func(t *testing.T) {
			_, err := templates.Parse(c.source, templatetest.Manifest)
			require.Equal(t, c.want, templatetest.ErrorText(err))
		})
	}
}

func TestPositions(t *testing.T) {
	cases := []struct {
		name, source string
		pos          templates.Position
		want         string
	}{
		{"folded text", "a\nb {{ 1 + }}", templatetest.Manifest, "site.yaml:7:12: "},
		{"whole file", "a\nbé {{ 1 + }}", diag.WholeFile("a.templ"), "a.templ:2:10: "},
		{"no column", "{{ 1 + }}", templates.Position{File: "a", Line: 3}, "a:3: "},
		{"no line", "{{ 1 + }}", templates.Position{File: "a"}, "a: "},
		{"nothing", "{{ 1 + }}", templates.Position{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := templates.Parse(c.source, c.pos)
			require.EqualError(t, err, c.want+`unexpected end in the expression "1 +"`)
		})
	}
}

func evalErrorCases() []errorCase {
	return []errorCase{
		{"{{ Data.nope.deeper == nil }}", "site.yaml:7:20: missing key \"Data.nope\"\n" +
			"  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.nope ?? DEFAULT"},
		{"{{ Data.nothing.deeper == nil }}", "site.yaml:7:28: Data.nothing.deeper: its parent is nil\n" +
			"  hint: if the key may be missing, write Data.nothing.deeper ?? DEFAULT"},
		{"{{ Data.name.x == nil }}", "site.yaml:7:25: Data.name.x: a string has no keys"},
		{"{{ Data.list[9] == nil }}", "site.yaml:7:24: Data.list[9]: the list has only 3 elements\n" +
			"  hint: if the key may be missing, write Data.list[9] ?? DEFAULT"},
		{"{{ Data.nope == 'nil' }}", "site.yaml:7:20: missing key \"Data.nope\"\n" +
			"  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.nope ?? DEFAULT"},
		{"{{ Data.nope < nil }}", "site.yaml:7:25: invalid operation: < (mismatched types any value and unknown) in the expression \"Data.nope < nil\""},
		{"{{ lookup('data.nope') == nil }}", "site.yaml:7:15: missing key \"data.nope\"\n" +
			"  hint: data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write lookup(\"data.nope\", DEFAULT)"},
		{"{{ Data.nope }}", "site.yaml:7:20: missing key \"Data.nope\"\n" +
			"  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.nope ?? DEFAULT"},
		{"{{ Data.zzzzzz }}", "site.yaml:7:20: missing key \"Data.zzzzzz\"\n" +
			"  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.zzzzzz ?? DEFAULT"},
		{"{{ Data.nested.prot }}", "site.yaml:7:27: missing key \"Data.nested.prot\"\n" +
			"  hint: did you mean \"port\"? if the key may be missing, write Data.nested.prot ?? DEFAULT"},
		{"{{ Data.nested['x' + Data.secret] }}", "site.yaml:7:26: missing key \"Data.nested[\\\"x\\\" + Data.secret]\"\n" +
			"  hint: it has a.b, port, with space; if the key may be missing, write Data.nested[\"x\" + Data.secret] ?? DEFAULT"},
		{"{{ Data.nothing.x }}", "site.yaml:7:28: Data.nothing.x: its parent is nil\n" +
			"  hint: if the key may be missing, write Data.nothing.x ?? DEFAULT"},
		{"{{ keys(Data.list) }}", "site.yaml:7:15: keys: needs a map, not a list"},
		{"{{ Data.name.x }}", "site.yaml:7:25: Data.name.x: a string has no keys"},
		{"{{ Data.port.x }}", "site.yaml:7:25: Data.port.x: an integer has no such key"},
		{"{{ Data.list.x }}", "site.yaml:7:25: Data.list.x: the index of a list must be an integer, not a string"},
		{"{{ Data.list[3] }}", "site.yaml:7:24: Data.list[3]: the list has only 3 elements\n  hint: if the key may be missing, write Data.list[3] ?? DEFAULT"},
		{"{{ Data[5] }}", "site.yaml:7:19: Data[5]: the key of a map must be a string, not an integer"},
		{"{{ map(Data.users, .nick) }}", "site.yaml:7:32: missing key \".nick\"\n  hint: it has id, name; if the key may be missing, write .nick ?? DEFAULT"},
		{"{{ Item.x }}", "site.yaml:7:15: \"Item\" is not available here: only resources with the key \"each\" have an item\n  hint: available: Facts, Data, Environ"},
		{"{{ lookup('data.nope') }}", "site.yaml:7:15: missing key \"data.nope\"\n" +
			"  hint: data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write lookup(\"data.nope\", DEFAULT)"},
		{"{{ lookup('data.nope', nil) }}", "site.yaml:7:15: missing key \"data.nope\"\n" +
			"  hint: data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write lookup(\"data.nope\", DEFAULT)"},
		{"{{ lookup('data.nested.x.y') }}", "site.yaml:7:15: missing key \"data.nested.x.y\"\n" +
			"  hint: data.nested has a.b, port, with space; if the key may be missing, write lookup(\"data.nested.x.y\", DEFAULT)"},
		{"{{ lookup('data.list.7') }}", "site.yaml:7:15: missing key \"data.list.7\"\n" +
			"  hint: data.list is a list of 3; if the key may be missing, write lookup(\"data.list.7\", DEFAULT)"},
		{"{{ lookup('data.name.x') }}", "site.yaml:7:15: missing key \"data.name.x\"\n" +
			"  hint: data.name is a string; if the key may be missing, write lookup(\"data.name.x\", DEFAULT)"},
		{"{{ lookup('Data.name') }}", "site.yaml:7:15: lookup of \"Data.name\": a path begins with facts, data, environ, item, host, groups, hosts, play, run or results\n  hint: write data.name"},
		{"{{ lookup('env', 'HOME') }}", "site.yaml:7:15: lookup of \"env\": a path begins with facts, data, environ, item, host, groups, hosts, play, run or results\n  hint: write Environ.NAME"},
		{"{{ lookup('data.no*') }}x", "site.yaml:7:15: nil in a text\n  hint: give a value for this case, as in (… ?? \"none\")"},
		{"{{ lookup('data.nope.#') }}", "site.yaml:7:15: missing key \"data.nope.#\"\n  hint: if the key may be missing, write lookup(\"data.nope.#\", DEFAULT)"},
		{"{{ lookup('item.x') }}", "site.yaml:7:15: missing key \"item.x\"\n" +
			"  hint: this context has data, environ, facts; if the key may be missing, write lookup(\"item.x\", DEFAULT)"},
		{"{{ lookup(Data.port) }}", "site.yaml:7:15: lookup: the path must be a string, not an integer"},
		{"x{{ Data.list }}", "site.yaml:7:16: a list in a text\n  hint: use join(…) or toJSON(…)"},
		{"x{{ Data.nested }}", "site.yaml:7:16: a map in a text\n  hint: use join(…) or toJSON(…)"},
		{"x{{ Data.nothing }}", "site.yaml:7:16: nil in a text\n  hint: give a value for this case, as in (… ?? \"none\")"},
		{"{{ 1 / 0 }}", "site.yaml:7:15: the result is not a finite number\n  hint: look for a division by zero"},
		{"{{ 1 % (Data.port - 8080) }}", "site.yaml:7:17: division by zero"},
		{"{{ int(Data.secret) }}", "site.yaml:7:15: the value is not an integer"},
		{"{{ float(Data.secret) }}", "site.yaml:7:15: the value is not a number"},
		{"{{ date(Data.secret) }}", "site.yaml:7:15: the expression cannot be evaluated with these values"},
		{"{{ fromJSON(Data.secret) }}", "site.yaml:7:15: the expression cannot be evaluated with these values"},
		{"{{ Data.name - 1 }}", "site.yaml:7:25: invalid operation: string - int\n  hint: use two texts or two numbers: string(…) makes a text of a number, and int(…) a number of a text"},
		{"{{ Data.secret[0:'x'] }}", "site.yaml:7:26: the value is not an integer"},
		{"{{ not Data.port }}", "site.yaml:7:15: found int where bool is needed"},
		{"{{ Data.name and true }}", "site.yaml:7:25: found string where bool is needed"},
		{"{{ upper(Data.port) }}", "site.yaml:7:15: found int where string is needed"},
		{"{{ len(Data.port) }}", "site.yaml:7:15: invalid argument for len (type int)"},
		{"{{ Data.name() }}", "site.yaml:7:20: invalid operation: cannot call non-function of type string"},
		{"{{ join(Data.users) }}", "site.yaml:7:15: join: element 0 is a map"},
		{"{{ join(Data.name) }}", "site.yaml:7:15: join: needs a list, not a string"},
		{"{{ replace(Data.list, 'a', 'b') }}", "site.yaml:7:15: replace: argument 1 must be a string, not a list"},
		{"{{ string(Data.list) }}", "site.yaml:7:15: a list in a text\n  hint: use join(…) or toJSON(…)"},
		{"{{ template('x.templ') }}", "site.yaml:7:15: no files can be read here"},
		{"{{ file('x') }}", "site.yaml:7:15: no files can be read here"},
		{"{{ repeat('x', 99999999) }}", "site.yaml:7:15: the expression needs too much memory"},
		{"{{ 1..99999999 }}", "site.yaml:7:16: the expression needs too much memory"},
		{"{{ reduce(1..60, #acc + #acc, 'x') }}", "site.yaml:7:34: the text grows beyond 16 MiB"},
		{"{{ replace(repeat('a', 99999), 'a', repeat('b', 99999)) }}", "site.yaml:7:15: replace: the text grows beyond 16 MiB"},
		{"{{ join(map(1..99999, ''), repeat('b', 9999)) }}", "site.yaml:7:15: join: the text grows beyond 16 MiB"},
	}
}

func TestEvalErrors(t *testing.T) {
	env := templatetest.Host(nil)
	for _, c := range evalErrorCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := templatetest.Eval(t, c.source, env)
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Empty(t, got)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestChosenPaths are paths that facts choose and do not make.
func TestChosenPaths(t *testing.T) {
	env := templatetest.Host(templatetest.Open(t, map[string]string{"linux.conf": "L", "web.conf": "W"}))
	for source, want := range map[string]string{
		"{{ file(Facts.host.info.os == 'linux' ? 'linux.conf' : 'other.conf') }}": "L",
		"{{ file({'linux': 'linux.conf'}[Facts.host.info.os]) }}":                 "L",
		"{{ file(Data.name + '.conf') }}":                                         "W",
		"{{ map(['web', 'linux'], file(# + '.conf')) | join('') }}":               "WL",
		"{{ let n = Data.name; file(lookup('data.nope', n) + '.conf') }}":         "W",
	} {
		got, err := templatetest.Eval(t, source, env)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

func TestErrorIsAPositionedError(t *testing.T) {
	_, err := templates.Parse("{{ 1 + }}", templatetest.Manifest)
	var positioned *yamlpos.Error
	require.ErrorAs(t, err, &positioned)
	require.Equal(t, 7, positioned.Line)
	require.Equal(t, 18, positioned.Column)
	var all yamlpos.Errors
	all.Add(err)
	require.Equal(t, yamlpos.Errors{positioned}, all)
}

func TestString(t *testing.T) {
	text, err := templates.Parse("{{ Data.port }}", templatetest.Manifest)
	require.NoError(t, err)
	got, err := text.String(t.Context(), templatetest.Host(nil))
	require.NoError(t, err)
	require.Equal(t, "8080", got)
	text, err = templates.Parse("{{ Data.list }}", templatetest.Manifest)
	require.NoError(t, err)
	_, err = text.String(t.Context(), templatetest.Host(nil))
	require.EqualError(t, err, "site.yaml:7:15: a list in a text\n  hint: use join(…) or toJSON(…)")
}

func TestBool(t *testing.T) {
	cases := []struct {
		source string
		want   bool
		err    string
	}{
		{"Data.port == 8080", true, ""},
		{"Facts.host.info.os == 'bsd'", false, ""},
		{"Data.nothing", false, ""},
		{"Data.nope ?? false", false, ""},
		{"Data.on && !Data.off", true, ""},
		{"Data.port", false, "site.yaml:7:12: expected a boolean, got an integer\n  hint: write a comparison, such as Data.x == \"y\""},
		{"'true'", false, "site.yaml:7:12: expected a boolean, got a string\n  hint: write a comparison, such as Data.x == \"y\""},
		{"Data.nope == nil", true, ""},
		{"Data.nope != nil", false, ""},
		{"Facts.nope != nil || Data.on", true, ""},
		{"Data.nope", false, "site.yaml:7:17: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.nope ?? DEFAULT"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			e, err := templates.ParseExpr(c.source, templatetest.Manifest)
			require.NoError(t, err)
			got, err := e.Bool(t.Context(), templatetest.Host(nil))
			require.Equal(t, c.err, templatetest.ErrorText(err))
			require.Equal(t, c.want, got)
		})
	}
}

func TestEvaluationEnds(t *testing.T) {
	endless := []string{
		"{{ let a = 1..9999; all(a, all(a, all(a, all(a, true)))) }}",
		"{{ let a = 1..9999; count(a, count(a, count(a, true) > 0) > 0) }}",
		"{{ let a = 1..9999; map(a, {map(a, {1})}) }}",
	}
	for _, source := range endless {
		t.Run(source, func(t *testing.T) {
			text, err := templates.Parse(source, templatetest.Manifest)
			require.NoError(t, err)
			_, err = text.Eval(templatetest.Expiring(t.Context(), 100), templatetest.Host(nil))
			if !strings.Contains(templatetest.ErrorText(err), "too much memory") {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Regexp(t, `^site\.yaml:7:\d+: rendering did not end in time: `, err.Error())
			}
		})
	}
}

func TestStepsEnd(t *testing.T) {
	text, err := templates.Parse("{{ all(1..9999, all(1..99, true)) }}", templatetest.Manifest)
	require.NoError(t, err)
	r, err := render.Begin(t.Context(), templatetest.Host(nil))
	require.NoError(t, err)
	require.NoError(t, r.AddSteps(render.MaxSteps-1000))
	_, err = text.EvalIn(r)
	require.EqualError(t, err, "site.yaml:7:39: rendering did not end within 20000000 steps\n  hint: look for a loop that does not end")
}

func TestContextIsOver(t *testing.T) {
	cause := errors.New("the host took too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	text, err := templates.Parse("{{ 1 }}", templatetest.Manifest)
	require.NoError(t, err)
	_, err = text.Eval(ctx, &templates.Env{})
	require.EqualError(t, err, "site.yaml:7:12: rendering did not end in time: the host took too long")
	require.ErrorIs(t, err, cause)
}

func TestExpressionTooLong(t *testing.T) {
	_, err := templates.Parse("{{ "+strings.Repeat("(", 20000)+" }}", templatetest.Manifest)
	require.EqualError(t, err, "site.yaml:7:15: an expression of more than 16 KiB")
	_, err = templates.Parse("{{ "+strings.Repeat("(", 16000)+" }}", templatetest.Manifest)
	require.Error(t, err)
	_, err = templates.Parse("{{ "+strings.Repeat("!", 16000)+"true }}", templatetest.Manifest)
	require.Error(t, err)
}

func TestFromHost(t *testing.T) {
	for source, want := range map[string]bool{
		"plain":                                           false,
		"{{ Data.a }}":                                    false,
		"a/{{ Facts.host.info.os }}.conf":                 true,
		"{{ lookup('facts.os') }}":                        true,
		"{{ lookup('data.os') }}":                         false,
		"{{ lookup('data.os', Facts.os) }}":               true,
		`{{ Facts.os == "linux" ? "l.conf" : "m.conf" }}`: false,
		`{{ Facts.os == "linux" ? Facts.os : "m.conf" }}`: true,
		`{{ let os = Facts.os; "keys/" + os }}`:           true,
		`{{ join(map(["a"], # + Facts.os)) }}`:            true,
		`{{ Facts.a in ["b"] ? Data.b : Data.c }}`:        false,
	} {
		text, err := templates.Parse(source, templates.Position{})
		require.NoError(t, err, source)
		require.Equal(t, want, text.FromHost(templates.Taint{}), source)
	}
}

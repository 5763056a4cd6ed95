package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/templates"
)

// orderCases have maps from all sources of data, which a Jinja template prints in the order of the source, as
// ansible-core does where Ansible has an equal.
var orderCases = []struct{ name, archive, template, want string }{
	{"data", "-- site.yaml --\ndata: {d: {z: 1, a: {y: 1, b: 2}}, l: [[{q: 1, c: 2}]]}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}{{ l }}{% for k, v in d.a.items() %}{{ k }}{% endfor %}", "{'z': 1, 'a': {'y': 1, 'b': 2}}[[{'q': 1, 'c': 2}]]yb"},
	{"vars_files, YAML and JSON", "-- site.yaml --\nvars_files: [v.yaml, j.json]\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n-- v.yaml --\nd: {z: 1, a: 2}\n-- j.json --\n{\"e\": {\"y\": 1, \"b\": {\"9\": 1, \"10\": 2}}}\n",
		"{{ d }}{{ e }}", "{'z': 1, 'a': 2}{'y': 1, 'b': {'9': 1, '10': 2}}"},
	{"the source that wins decides", "-- site.yaml --\ndata: {d: {a: 1, z: 2}}\nvars_files: [v.yaml]\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n-- v.yaml --\nd: {z: 1, a: 2}\n",
		"{{ d }}", "{'z': 1, 'a': 2}"},
	{"maps that are merged", "-- site.yaml --\ndata: {d: {z: 1, m: 0, a: {y: 1, b: 1}}}\nhierarchy: {order: [o], merge: deep}\noverrides: {o: {d: {x: 1, a: {a: 2, y: 3}, m: 5}}}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}", "{'z': 1, 'm': 5, 'a': {'y': 3, 'b': 1, 'a': 2}, 'x': 1}"},
	{"values that are expressions", "-- site.yaml --\ndata: {d: {z: '{{ 1 }}', a: '{{ Data.e }}'}, e: {y: 1, b: 2}, f: '{{ Data.e }}', g: '{{ Data.d.a }}'}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}{{ f }}{{ g }}", "{'z': 1, 'a': {'y': 1, 'b': 2}}{'y': 1, 'b': 2}{'y': 1, 'b': 2}"},
	{"vars of a resource and a block", "-- site.yaml --\ndata: {d: {a: 1}}\nccm: {resources: [{name: x, vars: {d: {y: 1, b: 2}}, block: [exec: [\"{{ template('x.j2') }}\": {vars: {e: {z: 1, c: {r: 1, d: 2}}}}]]}]}\n",
		"{{ d }}{{ e }}", "{'y': 1, 'b': 2}{'z': 1, 'c': {'r': 1, 'd': 2}}"},
	{"a value that is set", "-- site.yaml --\ndata: {d: {a: 1}}\nccm: {resources: [set: [s: {data: {d: {y: 1, b: {z: 1, a: '{{ 2 }}'}}}}], exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}", "{'y': 1, 'b': {'z': 1, 'a': 2}}"},
	{"the elements of an each", "-- site.yaml --\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": {each: [{y: 1, b: {z: 1, a: '{{ 2 }}'}}]}]]}\n", "{{ item }}", "{'y': 1, 'b': {'z': 1, 'a': 2}}"},
	{"an each of data", "-- site.yaml --\ndata: {l: [{n: 1, z: {b: 1, a: 2}, a: 3}]}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": {each: \"{{ filter(Data.l, .n == 1) }}\"}]]}\n",
		"{{ item }}{{ item.z.keys() | join }}", "{'n': 1, 'z': {'b': 1, 'a': 2}, 'a': 3}ba"},
	{"apply", "-- site.yaml --\ndata: {d: {y: 1, b: 2}}\nccm: {resources: [apply: [n.yaml: ]]}\n-- n.yaml --\ndata: {e: {y: 1, b: 3}, d: {c: 1, a: 1}}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}{{ e }}", "{'c': 1, 'a': 1, 'y': 1, 'b': 2}{'y': 1, 'b': 3}"},
	{"apply with data", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {data: {d: {z: 1, a: {y: '{{ 1 }}', b: 2}}}}]]}\n-- n.yaml --\ndata: {d: {a: 1}}\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ d }}", "{'a': {'y': 1, 'b': 2}, 'z': 1}"},
	{"the inventory", "-- site.yaml --\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n",
		"{{ plain }}{{ own }}{{ copied }}{{ made }}", "{'z': 1, 'b': 2}{'z': 1, 'a': 'ann'}{'z': 1, 'a': 'ann'}{'z': 2, 'a': 'ann', 'y': 1, 'b': {'q': 1, 'c': 2}}"},
}

const orderVars = `
who: ann
plain: {z: 1, b: 2}
own: {z: 1, a: "{{ who }}"}
copied: "{{ own }}"
made: "{{ own | combine(more, {'z': 2}) }}"
more: {y: 1, b: {q: 1, c: 2}}
`

func TestKeyOrder(t *testing.T) {
	docs, err := yamlpos.Parse("web1.yaml", []byte(orderVars))
	require.NoError(t, err)
	host := web1
	host.Layers = []templates.Layer{{Name: "host web1", Node: docs[0], Values: docs[0].Any().(map[string]any)}}
	for _, c := range orderCases {
		t.Run(c.name, func(t *testing.T) {
			compiler, _, err := nesting(t, c.archive+"-- x.j2 --\n"+c.template+"\n", Options{Variables: templates.ParseVariables(docs)})
			require.NoError(t, err)
			for range 2 { // the second time from the memo
				compiled, err := compiler.Compile(t.Context(), host)
				require.NoError(t, err)
				found := false
				for _, e := range compiled.Catalog.Entries {
					if e.Type == "exec" {
						require.Equal(t, c.want+"\n", e.Name)
						found = true
					}
				}
				require.True(t, found)
			}
		})
	}
}

// TestKeyOrderOfHosts has two hosts whose maps differ only in their order.
func TestKeyOrderOfHosts(t *testing.T) {
	compiler, _, err := nesting(t, "-- site.yaml --\nccm: {resources: [exec: [\"{{ template('x.j2') }}\": ]]}\n-- x.j2 --\n{{ d }}\n", Options{})
	require.NoError(t, err)
	for _, text := range []string{"{'z': 1, 'l': [{'y': 1, 'b': 2}]}", "{'z': 1, 'l': [{'b': 2, 'y': 1}]}", "{'l': [{'y': 1, 'b': 2}], 'z': 1}"} {
		docs, err := yamlpos.Parse("vars.yaml", []byte("d: "+text))
		require.NoError(t, err)
		host := web1
		host.Layers = []templates.Layer{{Name: "host", Node: docs[0], Values: docs[0].Any().(map[string]any)}}
		compiled, err := compiler.Compile(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, text+"\n", compiled.Catalog.Entries[0].Name)
	}
}

// TestNamedResults has templates that read results by their names alone: they wait for the result, and its secrets stay
// secret.
func TestNamedResults(t *testing.T) {
	for _, c := range []struct{ register, template, first, second string }{
		{"register: r", "{{ r.stdout }}", "exec#id\n| exec#{{ trim(template('x.j2')) }} awaits exec#id", "exec#id\nexec#{{ x }}"},
		{"register: r", "{{ x }}{{ 'on' if r is changed }}", "exec#id\n| exec#{{ trim(template('x.j2')) }} awaits exec#id", "exec#id\nexec#1on"},
		{"register: x, sensitive: true", "{{ x.rc }}{{ Data.x }}", "exec#id\n| exec#{{ trim(template('x.j2')) }} awaits exec#id", "ccm-push would print the result of a sensitive resource here"},
		{"register: other", "{{ r.stdout | default('none') }}", "exec#id\nexec#none", ""},
		{"register: other", "{{ x }}", "exec#id\nexec#1", ""},
	} {
		compiler, _, err := nesting(t, "-- site.yaml --\ndata: {x: 1}\nccm: {resources: [exec: [id: {"+c.register+"}], exec: [\"{{ trim(template('x.j2')) }}\": ]]}\n-- x.j2 --\n"+c.template+"\n", Options{})
		require.NoError(t, err)
		first, err := compiler.Compile(t.Context(), web1)
		if strings.Contains(c.register, "sensitive") {
			require.ErrorContains(t, err, c.second)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.first, awaiting(first), c.template)
		if c.second == "" {
			continue
		}
		with := web1
		with.Results = []*wire.Result{{Status: wire.Changed, Exit: &modules.Exit{Stdout: modules.Output{Text: "{{ x }}\n"}}, Registered: &wire.Registered{Exit: &modules.Exit{Stdout: modules.Output{Text: "{{ x }}\n"}}}}}
		next, err := compiler.Next(t.Context(), first, with)
		require.NoError(t, err)
		require.Equal(t, c.second, awaiting(next), c.template)
	}
}

// TestSecretInTemplate has a template that prints a secret of the data, by a template that it includes.
func TestSecretInTemplate(t *testing.T) {
	docs, err := yamlpos.Parse("vars.yaml", []byte("password: !secret hunter2-xyz\nport: 80\n"), yamlpos.Secrets())
	require.NoError(t, err)
	for template, secret := range map[string]bool{"{% include 'part.j2' %}": true, "{{ port }}": false, "{{ vars['password'] }}": true, "{{ lookup('vars', 'pass' ~ 'word') }}": true} {
		compiler, _, err := nesting(t, "-- site.yaml --\nccm: {resources: [file: [/etc/x: {content: \"{{ template('x.j2') }}\", owner: root, group: root, mode: '0600'}]]}\n-- x.j2 --\n"+template+"\n-- part.j2 --\npw={{ password }}\n", Options{InventorySecrets: true})
		require.NoError(t, err)
		host := web1
		host.Layers = []templates.Layer{{Name: "host", Node: docs[0], Values: docs[0].Any().(map[string]any)}}
		host.Secrets = docs
		compiled, err := compiler.Compile(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, secret, compiled.Catalog.Entries[0].Sensitive, template)
	}
}

// TestFilesOfTemplate has a worker get the files that a template reads.
func TestFilesOfTemplate(t *testing.T) {
	compiler, _, err := nesting(t, "-- site.yaml --\nccm: {resources: [exec: [\"{{ template('templates/x.j2') }}\": ]]}\n-- templates/x.j2 --\n{% include 'part.j2' %}{{ lookup('file', 'key') }}{{ lookup('template', 'other.j2') }}\n"+
		"-- templates/part.j2 --\n{% from 'macros/m.j2' import m %}{{ m() }}\n-- templates/macros/m.j2 --\n{% macro m() %}m{% endmacro %}\n-- files/key --\nk\n-- templates/other.j2 --\no\n", Options{})
	require.NoError(t, err)
	_, err = compiler.Compile(t.Context(), web1)
	require.NoError(t, err)
	uses := compiler.FolderUses()
	require.Len(t, uses, 1)
	for _, name := range []string{"templates/x.j2", "templates/part.j2", "templates/macros/m.j2", "templates/other.j2", "files/key"} {
		require.Contains(t, uses[0].Read, name)
	}
	require.Empty(t, uses[0].Names)
}

// TestJinjaFunction has values and conditions in Ansible's language.
func TestJinjaFunction(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"a property, a name and a default", `data: {a: [1, x]}
ccm: {resources: [exec: ["{{ jinja('{{ nope | default(a | join(\"+\")) }}') }}": ]]}`, "exec#1+x"},
		{"data keep their types and order", `data: {a: {z: 1, b: "{{ Data.n }}"}, n: 2, l: "{{ jinja('{{ a | combine({\"c\": 3}) }}') }}", t: "{{ jinja('{{ l }}') }}"}
ccm: {resources: [exec: ["{{ template('x.j2') }} {{ Data.l.c + 1 }}": ]]}`, "exec#{'z': 1, 'b': 2, 'c': 3}{'z': 1, 'b': 2, 'c': 3}\n 4"},
		{"conditions", `data: {a: "no"}
ccm: {resources: [exec: [{x: {control: {if: "jinja('a is defined and not (a | bool)')"}}}, {y: {control: {if: "jinja('b is defined')"}}}, {z: {control: {unless: "jinja(\"a == 'no'\")"}}}]]}`, "exec#x\nexec#y excluded\nexec#z excluded"},
		{"each, and its element", `data: {l: [{n: b, f: 1}, {n: a}], me: "{{ jinja('{{ item.n }}!') }}"}
ccm: {resources: [exec: ["{{ Item.n }} {{ jinja('{{ item.f | default(7) }}') }} {{ Data.me }}": {each: "{{ jinja('{{ l | sort(attribute=\"n\") }}') }}"}]]}`, "exec#a 7 a!\nexec#b 1 b!"},
		{"values of hosts are never evaluated", `data: {e: "{{ Facts.evil }}", l: "{{ jinja('{{ [e, nope | default(e) ] }}') }}"}
ccm: {resources: [exec: ["{{ jinja('{{ e }}') }} {{ jinja('{{ l | join }}') }}": ]]}`, "exec#{{ 7*7 }} {{ 7*7 }}{{ 7*7 }}"},
		{"vars", `data: {h: a, u: "{{ jinja('{{ h }}:{{ p | default(1) }}') }}"}
ccm: {resources: [exec: [{"{{ Data.u }}": {vars: {h: b, p: "{{ jinja('{{ 1 + 1 }}') }}"}}}, {"{{ Data.u }}": }]]}`, "exec#b:2\nexec#a:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiler, _, err := nesting(t, "-- site.yaml --\n"+c.archive+"\n-- x.j2 --\n{{ l }}{{ t }}", Options{})
			require.NoError(t, err)
			compiled, err := compiler.Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, c.want, awaiting(compiled))
		})
	}
}

// TestJinjaFunctionRefuses has errors of the function, and a file that a host would choose.
func TestJinjaFunctionRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{{ jinja('{{ a | }}') }}":        "site.yaml:2:44: unexpected end of the tag",
		"{{ jinja('a is') }}":             "site.yaml:2:",
		"{{ jinja(Data.x) }}":             `the argument of "jinja" must be a fixed text`,
		"{{ jinja() }}":                   "jinja: 0 arguments",
		"{{ jinja('{{ a | nope }}') }}":   `there is no filter "nope"`,
		"{{ file(jinja('{{ Data }}')) }}": "data from a host cannot choose which file",
	} {
		_, err := load.Parse(t.Context(), "site.yaml", []byte("data: {x: 1}\nccm: {resources: [exec: [\""+text+"\": ]]}\n"), builtin.Types())
		require.ErrorContains(t, err, want, text)
	}
}

// TestJinjaFunctionFollows has a secret and a result in a text.
func TestJinjaFunctionFollows(t *testing.T) {
	compiler, _, err := nesting(t, "-- site.yaml --\ndata: {key: !secret hunter2-hunter2, made: \"{{ jinja('{{ key | upper }}') }}\"}\nccm: {resources: [exec: [id: {register: r}, x: {command: \"echo {{ jinja('{{ key }}') }}\"}, y: {command: \"echo {{ Data.made }}\"}, z: {control: {if: \"jinja('r is changed and r.rc == 0')\"}}]]}\n", Options{})
	require.NoError(t, err)
	first, err := compiler.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.True(t, first.Catalog.Entries[1].Sensitive)
	require.True(t, first.Catalog.Entries[2].Sensitive)
	require.Equal(t, "exec#id\nexec#x sensitive\nexec#y sensitive\n| exec#z awaits exec#id", awaiting(first))
}

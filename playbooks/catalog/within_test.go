package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/templates"
)

// scopeCases have values that are built on others, in every kind of scope. The names of the resources are the values.
var scopeCases = []struct{ name, archive, want string }{
	{"a resource", "-- site.yaml --\ndata: {host: a, url: 'http://{{ Data.host }}', page: '{{ Data.url }}/x'}\nccm: {resources: [exec: [{'1 {{ Data.page }}': {vars: {host: b}}}, {'2 {{ Data.page }}': }]]}\n",
		"exec#1 http://b/x\nexec#2 http://a/x"},
	{"a block, and a block in it", "-- site.yaml --\ndata: {host: a, p: 1, url: '{{ Data.host }}:{{ Data.p }}'}\nccm:\n  resources:\n    - vars: {host: b}\n      name: x\n      block: [{exec: ['1 {{ Data.url }}': ]}, {name: y, vars: {p: 2}, block: [{exec: ['2 {{ Data.url }}': ]}]}, {exec: ['3 {{ Data.url }}': ]}]\n      always: [{exec: ['4 {{ Data.url }}': ]}]\n    - exec: ['5 {{ Data.url }}': ]\n",
		"exec#1 b:1\nexec#2 b:2\nblock#y [1]\nexec#3 b:1\nexec#4 b:1\nblock#x [5]\nexec#5 a:1"},
	{"vars that are made of each other, and of data", "-- site.yaml --\ndata: {a: 1, b: '{{ Data.a }}!'}\nccm: {resources: [exec: ['{{ Data.d }}': {vars: {a: 2, c: 'c{{ Data.b }}', d: 'd{{ Data.c }}'}}]]}\n",
		"exec#dc2!"},
	{"apply gets the vars", "-- site.yaml --\ndata: {x: 1}\nccm: {resources: [apply: [{cert.yaml: {alias: one, vars: {domain: a.test}}}, {cert.yaml: }, {cert.yaml: {alias: two, vars: {domain: b.test}}}]]}\n" +
		"-- cert.yaml --\ndata: {domain: default.test, path: '/out/{{ Data.domain }}'}\nccm: {resources: [exec: ['{{ Data.path }}.conf': ]]}\n",
		"exec#/out/a.test.conf\napply#cert.yaml(one) [1]\nexec#/out/default.test.conf\napply#cert.yaml [1]\nexec#/out/b.test.conf\napply#cert.yaml(two) [1]"},
	{"apply gets the vars, defaults are the play's", "-- site.yaml --\ndata: {domain: default.test, path: '/out/{{ Data.domain }}'}\nccm: {resources: [apply: [{cert.yaml: {vars: {domain: a.test}}}, {cert.yaml: }]]}\n" +
		"-- cert.yaml --\nccm: {resources: [exec: ['{{ Data.path }}.conf': ]]}\n",
		"exec#/out/a.test.conf\napply#cert.yaml [1]\nexec#/out/default.test.conf\napply#cert.yaml [1]"},
	{"parameters of one part are not seen by the next", "-- site.yaml --\nccm: {resources: [apply: [{a.yaml: {vars: {tls: 'yes'}}}, {b.yaml: }]]}\n" +
		"-- a.yaml --\nccm: {resources: [exec: ['a {{ Data.tls }}': ]]}\n-- b.yaml --\nccm: {resources: [exec: [\"b {{ Data.tls ?? 'no' }}\": ]]}\n",
		"exec#a yes\napply#a.yaml [1]\nexec#b no\napply#b.yaml [1]"},
	{"apply with data", "-- site.yaml --\ndata: {domain: parent}\nccm: {resources: [apply: [cert.yaml: {data: {domain: '{{ Data.domain }}.test'}}]]}\n" +
		"-- cert.yaml --\ndata: {domain: default.test, path: '/out/{{ Data.domain }}'}\nccm: {resources: [exec: ['{{ Data.path }}.conf': ]]}\n",
		"exec#/out/parent.test.conf\napply#cert.yaml [1]"},
	{"apply with data, made of vars", "-- site.yaml --\ndata: {a: 1, b: '{{ Data.a }}'}\nccm: {resources: [apply: [n.yaml: {vars: {a: 2}, data: {x: '{{ Data.b }}'}}]]}\n-- n.yaml --\nccm: {resources: [exec: [\"{{ Data.x }} {{ Data.a ?? 'none' }}\": ]]}\n",
		"exec#2 none\napply#n.yaml [1]"},
	{"the parent's data win, and see what only the manifest sets", "-- site.yaml --\ndata: {root: /srv, conf: '{{ Data.root }}/{{ Data.name }}', l: [1], n: '{{ len(Data.l) }}'}\nccm: {resources: [apply: [n.yaml: ]]}\n" +
		"-- n.yaml --\ndata: {root: /x, name: shop, l: [0]}\nccm: {resources: [exec: ['{{ Data.conf }} {{ Data.n }}': ]]}\n",
		"exec#/srv/shop 2\napply#n.yaml [1]"},
	{"apply in a block", "-- site.yaml --\ndata: {a: 1, b: '{{ Data.a }}'}\nccm: {resources: [{name: x, vars: {a: 2}, block: [{apply: [n.yaml: ]}]}]}\n-- n.yaml --\ndata: {c: '{{ Data.b }}{{ Data.a }}'}\nccm: {resources: [exec: ['{{ Data.c }}': , '{{ Data.c }} {{ Data.b }}': {vars: {b: 3}}]]}\n",
		"exec#22\nexec#32 3\napply#n.yaml [2]\nblock#x [3]"},
	{"apply in apply", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {vars: {a: 2}}]]}\n-- n.yaml --\ndata: {a: 1, b: 'n{{ Data.a }}'}\nccm: {resources: [{apply: [m.yaml: ]}, {apply: [m.yaml: {vars: {a: 3}}]}]}\n" +
		"-- m.yaml --\ndata: {c: 'm{{ Data.b }}'}\nccm: {resources: [exec: ['{{ Data.c }}': ]]}\n",
		"exec#mn2\napply#m.yaml [1]\nexec#mn3\napply#m.yaml [1]\napply#n.yaml [4]"},
	{"an element", "-- site.yaml --\ndata: {url: 'http://{{ Item }}', page: '{{ Data.url }}/x'}\nccm: {resources: [exec: ['{{ Data.page }}': {each: [a, b]}]]}\n",
		"exec#http://a/x\nexec#http://b/x"},
	{"vars of an element", "-- site.yaml --\ndata: {host: none, url: 'http://{{ Data.host }}'}\nccm: {resources: [exec: ['{{ Data.url }}': {each: [{h: a}, {h: b}], vars: {host: '{{ Item.h }}'}}]]}\n",
		"exec#http://a\nexec#http://b"},
	{"a list that is made of vars", "-- site.yaml --\ndata: {n: 1, l: '{{ map(1..Data.n, # * 2) }}'}\nccm: {resources: [exec: ['{{ Item }}': {each: '{{ Data.l }}', vars: {n: 2}}]]}\n",
		"exec#2\nexec#4"},
	{"control", "-- site.yaml --\ndata: {on: false, is: '{{ Data.on }}'}\nccm: {resources: [exec: [{a: {vars: {on: true}, control: {if: Data.is}}}, {b: {control: {if: Data.is}}}]]}\n",
		"exec#a\nexec#b excluded"},
	{"elements of blocks", "-- site.yaml --\ndata: {me: '{{ Item }}'}\nccm: {resources: [{name: 'x{{ Data.me }}', each: [a, b], vars: {site: '{{ Item }}'}, block: [{exec: ['{{ Data.me }}': , '{{ Data.site }}{{ Data.me }}{{ Outer }}': {each: [1]}]}]}]}\n",
		"exec#a\nexec#a1a\nblock#xa [2]\nexec#b\nexec#b1b\nblock#xb [2]"},
	{"elements of apply", "-- site.yaml --\ndata: {me: '{{ Item }}'}\nccm: {resources: [apply: [n.yaml: {each: [a, b], vars: {site: '{{ Item }}'}}]]}\n-- n.yaml --\ndata: {at: '{{ Data.site }}-{{ Data.me }}', own: 'own {{ Item }}'}\n" +
		"ccm: {resources: [exec: ['{{ Data.at }}': , '{{ Data.at }} {{ Item }} {{ Data.own }}': {each: [1]}]]}\n",
		"exec#a-a\nexec#a-a 1 own 1\napply#n.yaml [2]\nexec#b-b\nexec#b-b 1 own 1\napply#n.yaml [2]"},
	{"maps and lists", "-- site.yaml --\ndata: {h: a, m: {l: ['x{{ Data.h }}', y], k: {z: '{{ Data.m.l[0] }}'}}, t: \"{{ Data.m.k.z }}{{ join(Data.m.l, '') }}\"}\nccm: {resources: [exec: [{'{{ Data.t }}': {vars: {h: b}}}, {'{{ Data.t }}': }]]}\n",
		"exec#xbxby\nexec#xaxay"},
	{"a key of a map", "-- site.yaml --\ndata: {m: {a: 1, b: 2}, t: '{{ Data.m.a }}'}\nccm: {resources: [exec: ['{{ Data.t }}': {vars: {m: {a: 3}}}]]}\n", "exec#3"},
	{"queries and templates", "-- site.yaml --\ndata: {h: a, l: [{n: '{{ Data.h }}'}], q: \"{{ lookup('data.l.#.n') }}\", j: \"{{ jet('[[ Data.h ]]') }}\"}\nccm: {resources: [exec: ['{{ Data.q[0] }}{{ Data.j }}': {vars: {h: b}}]]}\n", "exec#bb"},
	{"a value that exists only there", "-- site.yaml --\ndata: {t: '{{ Data.x }}'}\nccm: {resources: [exec: ['{{ Data.t }}': {vars: {x: 1}}, other: ]]}\n", "exec#1\nexec#other"},
	{"overrides", "-- site.yaml --\ndata: {h: a, u: none}\nhierarchy: {order: ['os:{{ Facts.os }}'], merge: deep}\noverrides: {'os:linux': {u: 'u{{ Data.h }}'}}\nccm: {resources: [exec: ['{{ Data.u }}': {vars: {h: b}}]]}\n", "exec#ub"},
	{"vars_files, and the inventory", "-- site.yaml --\nvars_files: [v.yaml]\nccm: {resources: [exec: [{'{{ Data.u }} {{ Data.r }}': {vars: {port: 1}}}, {'{{ Data.u }} {{ Data.r }}': {vars: {role: db}}}]]}\n-- v.yaml --\nu: 'p{{ Data.port }}'\nr: 'r{{ Data.role }}'\n",
		"exec#p1 rweb\nexec#p8080 rdb"},
	{"facts", "-- site.yaml --\ndata: {h: a, t: '{{ Facts.os }} {{ Data.h }}'}\nccm: {resources: [exec: ['{{ Data.t }}': {vars: {h: '{{ Facts.evil }}'}}]]}\n", "exec#linux {{ 7*7 }}"},
	{"null takes a value away", "-- site.yaml --\ndata: {h: a, t: \"{{ Data.h ?? 'none' }}\"}\nccm: {resources: [exec: ['{{ Data.t }}': {vars: {h: }}]]}\n", "exec#none"},
	{"a template that writes resources", "-- site.yaml --\ndata: {h: a, t: 'x{{ Data.h }}'}\nccm: {resources_jet_file: r.jet}\n-- r.jet --\n- exec:\n    - '{{ Data.t }}': {vars: {h: '[[ Facts.evil ]]'}}\n", "exec#x{{ 7*7 }}"},
	{"-e wins", "-- site.yaml --\ndata: {e: 1, h: 1, t: '{{ Data.e }}{{ Data.h }}'}\nccm: {resources: [{exec: ['{{ Data.t }}': {vars: {e: 2, h: 2}}]}, {apply: [n.yaml: {vars: {e: 3, h: 3}}]}]}\n-- n.yaml --\nccm: {resources: [exec: ['{{ Data.t }}': ]]}\n", "exec#given2\nexec#given3\napply#n.yaml [1]"},
}

func TestScopes(t *testing.T) {
	for _, c := range scopeCases {
		t.Run(c.name, func(t *testing.T) {
			compiler, _, err := nesting(t, c.archive, Options{Extra: []templates.Layer{{Name: "-e", Values: map[string]any{"e": "given"}}}})
			require.NoError(t, err)
			for range 2 { // the second time from the memo
				compiled, err := compiler.Compile(t.Context(), web1)
				require.NoError(t, err)
				require.Equal(t, c.want, strings.TrimSpace(showNested(compiled.Catalog.Entries)))
			}
		})
	}
}

// TestSecretsInScopes checks that a value that is made of a secret in a scope is secret there, and not elsewhere.
func TestSecretsInScopes(t *testing.T) {
	c := compiler(t, `
data:
  key: !secret hunter2-hunter2
  keys: [{n: a, k: !secret hunter3-hunter3}]
  part: none
  url: "http://{{ Data.part }}"
  item: "{{ Item.k }}"
ccm:
  resources:
    - exec:
        - plain: {command: "echo {{ Data.url }}"}
        - made of it: {vars: {part: "{{ Data.key }}"}, command: "echo {{ Data.url }}"}
        - not read: {vars: {part: "{{ Data.key }}"}, command: "echo"}
        - "{{ Item.n }}": {each: "{{ Data.keys }}", command: "echo {{ Data.item }}"}
        - "{{ Item.n }} 2": {each: "{{ Data.keys }}", vars: {part: "{{ Item.k }}"}, command: "echo {{ Data.url }}"}
        - "{{ Item.n }} 3": {each: "{{ Data.keys }}", vars: {part: "{{ Item.n }}"}, command: "echo {{ Data.url }}"}
    - name: b
      vars: {part: "{{ Data.key }}"}
      block:
        - exec: [in a block: {command: "echo {{ Data.url }}"}, in a block 2: {command: "echo {{ Data.url }}", vars: {part: x}}]
`, nil, Options{})
	compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
	require.NoError(t, err)
	var plain []string
	for _, e := range compiled.Catalog.Entries {
		if !e.Sensitive {
			plain = append(plain, e.Name)
		}
	}
	require.Equal(t, []string{"plain", "not read", "a 3", "b"}, plain, "a secret that a scope replaces still counts")
	for _, text := range []string{"hunter2-hunter2", "http://hunter3-hunter3"} {
		require.NotContains(t, c.opts.Mask.Text(text), "hunter")
	}
	c = compiler(t, "data: {key: !secret hunter2-hunter2, name: x, other: '{{ Data.name }}'}\nccm: {resources: [exec: ['{{ Data.other }}': {vars: {name: '{{ Data.key }}'}}]]}\n", nil, Options{})
	_, err = c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
	require.ErrorContains(t, err, "site.yaml:2:26: ccm-push would print a secret here: Data.other")
}

// TestFactsChooseNoFileInScopes checks that a value that is made of a fact in a scope names no file of the play there.
func TestFactsChooseNoFileInScopes(t *testing.T) {
	for _, resource := range []string{
		"file: [/a: {source: '{{ Data.path }}', vars: {name: '{{ Facts.os }}'}, " + root + "}]",
		"file: [/a: {content: \"{{ file(Data.path) }}\", vars: {name: '{{ Facts.os }}'}, " + root + "}]",
		"file: [/a: {source: '{{ Data.path }}', each: '{{ [Facts.os] }}', vars: {name: '{{ Item }}'}, " + root + "}]",
		"file: [/a: {source: '{{ Data.each }}', each: '{{ [Facts.os] }}', " + root + "}]",
		"block: [file: [/a: {source: '{{ Data.path }}', " + root + "}]], vars: {name: '{{ Facts.os }}'}",
		"block: [file: [/a: {source: '{{ Data.path }}', " + root + "}]], vars: {name: '{{ Item }}'}, each: '{{ [Facts.os] }}'",
		"apply: [n.yaml: {vars: {name: '{{ Facts.os }}'}}]",
		"apply: [n.yaml: {each: '{{ [Facts.os] }}'}], vars: {name: x}",
	} {
		resource = strings.Replace(resource, "}], vars: {name: x}", ", vars: {name: '{{ Item }}'}}]", 1)
		files := "-- site.yaml --\ndata: {name: linux, path: 'f/{{ Data.name }}', each: '{{ Item }}'}\nccm: {resources: [{" + resource + "}]}\n" +
			"-- n.yaml --\nccm: {resources: [file: [/a: {source: '{{ Data.path }}', " + root + "}]]}\n-- f/linux --\nx\n"
		_, _, err := nesting(t, files, Options{})
		require.ErrorContains(t, err, "data from a host cannot choose which file ccm-push reads", resource)
	}
	c, _, err := nesting(t, "-- site.yaml --\ndata: {name: linux, path: 'f/{{ Data.name }}'}\nccm: {resources: [file: [{/a: {vars: {other: '{{ Facts.os }}'}, source: '{{ Data.path }}', "+root+"}}]]}\n-- f/linux --\nx\n", Options{})
	require.NoError(t, err)
	_, err = c.Compile(t.Context(), web1)
	require.NoError(t, err)
}

// TestResultsInScopes checks that vars can read results, and that the resource, or the whole block, waits for them.
func TestResultsInScopes(t *testing.T) {
	c := compiler(t, `
data: {version: none, url: "v{{ Data.version }}"}
ccm:
  resources:
    - exec: [ask: {readonly: true, register: asked}]
    - exec: ["{{ Data.url }}": {vars: {version: "{{ Results.asked.stdout_trimmed }}"}}]
    - name: b
      vars: {version: "{{ Results.asked.stdout_trimmed }}"}
      block: [{exec: ["b {{ Data.url }}": ]}]
    - exec: ["after {{ Data.url }}": ]
`, nil, Options{})
	compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
	require.NoError(t, err)
	require.Equal(t, "exec#ask\nexec#{{ Data.url }}\nblock#b\nexec#after vnone", show(compiled.Catalog.Entries))
	require.Equal(t, []int{0}, compiled.Catalog.Entries[1].Awaits)
	require.Equal(t, []int{0}, compiled.Catalog.Entries[2].Awaits)
	require.Equal(t, 1, compiled.Catalog.Until)
	results := []*wire.Result{{Status: wire.Changed, Grade: modules.Certain, Registered: &wire.Registered{Exit: &modules.Exit{Stdout: modules.Output{Text: "7\n"}}}}}
	next, err := c.Next(t.Context(), compiled, Host{Name: "web1", Facts: map[string]any{}, Results: results})
	require.NoError(t, err)
	require.Equal(t, "exec#ask\nexec#v7\nexec#b v7\nblock#b [1]\nexec#after vnone", strings.TrimSpace(showNested(next.Catalog.Entries)))
}

// TestScopeErrorsHavePlaces has errors of vars.
func TestScopeErrorsHavePlaces(t *testing.T) {
	for lines, want := range map[string]string{
		"data: {a: 1, b: '{{ Data.a }}'}\nccm: {resources: [exec: ['{{ Data.b }}': {vars: {a: '{{ Data.b }}'}}]]}\n":                           "site.yaml:1:18: data refers to itself: b (site.yaml:1:17) needs a (site.yaml:2:53) needs b",
		"data: {b: '{{ Data.a }}'}\nccm: {resources: [exec: [{'{{ Data.b }}': {vars: {a: 1}}}, {'x{{ Data.b }}': }]]}\n":                       "site.yaml:2:71: Data.b has no value here: missing key \"Data.a\" (site.yaml:1:20)",
		"data: {b: '{{ Item }}'}\nccm: {resources: [exec: [{'{{ Data.b }}': {each: [1]}}, {'x{{ Data.b }}': }]]}\n":                            "Data.b has no value here: \"Item\" is not available here",
		"data: {b: '{{ Item }}'}\nccm: {resources: [exec: ['x{{ Data.b }}': ]]}\n":                                                             "site.yaml:1:15: \"Item\" is not available here",
		"data: {b: '{{ Data.nope }}'}\nccm: {resources: [exec: [{x: {vars: {a: 1}}}]]}\n":                                                      "site.yaml:1:20: missing key \"Data.nope\"",
		"data: {a: 1, b: '{{ Data.a + 1 }}'}\nccm: {resources: [exec: ['{{ Data.b }}': {vars: {a: x}}]]}\n":                                    "site.yaml:2:35: Data.b has no value here: invalid operation: string + int (site.yaml:1:28)",
		"data: {b: '{{ Results.x.stdout }} {{ Data.v }}'}\nccm: {resources: [exec: [{x: {register: x}}, {'{{ Data.b }}': {vars: {v: 1}}}]]}\n": "Data.b has no value here: \"Results\" is not available here",
	} {
		c := compiler(t, lines, nil, Options{})
		_, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
		require.ErrorContains(t, err, want, lines)
	}
}

package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// TestSets compiles the stages of plays that set values. The controller knows what decides a set whose play has no second
// stage, and two stages are one more round trip.
func TestSets(t *testing.T) {
	failed := &wire.Result{Status: wire.Failed}
	skipped := &wire.Result{Status: wire.Skipped}
	changed := &wire.Result{Status: wire.Changed}
	for _, tc := range []struct {
		name, manifest, first string
		results               []*wire.Result
		next                  string
	}{
		{
			"what comes after it", play(`- exec: ["a {{ Data.n }}": ]`, `- set: [s: {data: {n: "{{ Data.n + 1 }}", new: [1, {a: "{{ Facts.os }}"}]}}]`, `- exec: ["b {{ Data.n }} {{ Data.new[1].a }}": ]`),
			"exec#a 5\nset#s\nexec#b 6 linux", nil, "",
		},
		{
			"control that the controller knows", play(`- set: [{s: {data: {n: 6}, control: {if: Facts.os == 'linux'}}}, {u: {data: {n: 7}, control: {if: Data.n == 5}}}]`, `- exec: ["b {{ Data.n }}": ]`),
			"set#s\nset#u excluded\nexec#b 6", nil, "",
		},
		{
			"each", play(`- set: [{s: {data: {l: []}}}, {"s {{ Item }}": {each: "{{ Data.names }}", data: {l: "{{ concat(Data.l, [Item]) }}"}}}]`, `- exec: ["b {{ join(Data.l, '+') }}": ]`),
			"set#s\nset#s a\nset#s b\nexec#b a+b", nil, "",
		},
		{
			"a block with each", play(`- {name: "m {{ Item }}", each: [1, 2], block: [{set: ["s {{ Item }}": {data: {n: "{{ Data.n * 10 + Item }}"}}]}, {exec: ["b {{ Data.n }} {{ Item }}": ]}]}`, `- exec: ["c {{ Data.n }}": ]`),
			"set#s 1\nexec#b 51 1\nblock#m 1\nset#s 2\nexec#b 512 2\nblock#m 2\nexec#c 512", nil, "",
		},
		{
			"several that one result decides", play(`- exec: [a: {register: x}]`, `- set: [{s: {data: {n: 6}, control: {if: Results.x.changed}}}, {u: {data: {m: 7}, control: {unless: Results.x.failed}}}, {v: {data: {k: "{{ Data.n }}{{ Data.m }}"}}}]`, `- exec: [{b: }, {"c {{ Data.n }} {{ Data.m }} {{ Data.k }}": }]`),
			"exec#a\n| set#s awaits exec#a\nset#u awaits exec#a\nset#v awaits exec#a\nexec#b\nexec#c {{ Data.n }} {{ Data.m }} {{ Data.k }} awaits exec#a",
			[]*wire.Result{changed},
			"exec#a\nset#s\nset#u\nset#v\nexec#b\nexec#c 6 7 67",
		},
		{
			"a result that excludes it", play(`- exec: [a: {register: x}]`, `- set: [s: {data: {n: 6}, control: {if: Results.x.changed}}]`, `- exec: ["c {{ Data.n }}": ]`),
			"exec#a\n| set#s awaits exec#a\nexec#c {{ Data.n }} awaits exec#a",
			[]*wire.Result{{}},
			"exec#a\nset#s excluded\nexec#c 5",
		},
		{
			"a prediction that is not certain", play(`- exec: [a: {register: x}]`, `- set: [s: {data: {n: 6}, control: {if: Results.x.changed}}]`, `- exec: ["c {{ Data.n }}": ]`),
			"exec#a\n| set#s awaits exec#a\nexec#c {{ Data.n }} awaits exec#a",
			[]*wire.Result{{Status: wire.Changed, Check: true, Grade: modules.Likely}},
			"exec#a\nset#s awaits exec#a\nexec#c {{ Data.n }} awaits exec#a",
		},
		{
			"a later one counts in any case", play(`- exec: [a: {register: x}]`, `- set: [{s: {data: {n: 6}, control: {if: Results.x.changed}}}, {u: {data: {n: 7}}}]`, `- exec: ["c {{ Data.n }}": ]`),
			"exec#a\n| set#s awaits exec#a\nset#u\nexec#c 7",
			[]*wire.Result{{}},
			"exec#a\nset#s excluded\nset#u\nexec#c 7",
		},
		{
			"a block that succeeds", play(`- {name: m, block: [{exec: [a: ]}, {set: [s: {data: {n: 6}}]}, {exec: ["b {{ Data.n }}": ]}], rescue: [{set: [r: {data: {n: 7}}]}, {exec: ["c {{ Data.n }}": ]}]}`, `- exec: ["d {{ Data.n }}": ]`),
			"exec#a\nset#s\nexec#b 6\nset#r\nexec#c 7\nblock#m\n| exec#d {{ Data.n }} awaits set#s awaits set#r",
			[]*wire.Result{changed, {}, changed, skipped, skipped, {}},
			"exec#a\nset#s\nexec#b 6\nset#r\nexec#c 7\nblock#m\nexec#d 6",
		},
		{
			"a block that fails before it", play(`- {name: m, block: [{exec: [a: ]}, {set: [s: {data: {n: 6}}]}], rescue: [{set: [r: {data: {r: "{{ Data.n }}"}}]}], always: [{set: [t: {data: {t: "{{ Data.n }}"}}]}]}`, `- exec: ["d {{ Data.n }} {{ Data.r ?? 'none' }} {{ Data.t }}": ]`),
			"exec#a\nset#s\n| set#r awaits set#s\nset#t awaits set#s\nblock#m\nexec#d {{ Data.n }} {{ Data.r ?? 'none' }} {{ Data.t }} awaits set#s",
			[]*wire.Result{failed, skipped},
			"exec#a\nset#s\nset#r\nset#t\nblock#m\n| exec#d {{ Data.n }} {{ Data.r ?? 'none' }} {{ Data.t }} awaits set#r",
		},
		{
			"the first of a block", play(`- {name: m, block: [{set: [s: {data: {n: 6}}]}, {exec: [a: ]}], always: [{set: [t: {data: {n: "{{ Data.n + 1 }}"}}]}]}`, `- exec: ["d {{ Data.n }}": ]`),
			"set#s\nexec#a\nset#t\nblock#m\nexec#d 7", nil, "",
		},
		{
			"a block whose control is decided by a result", play(`- exec: [a: {register: x}]`, `- {name: m, block: [{set: [s: {data: {n: 6}}]}], control: {if: Results.x.changed}}`, `- exec: ["d {{ Data.n }}": ]`),
			"exec#a\n| set#s awaits exec#a\nblock#m\nexec#d {{ Data.n }} awaits exec#a",
			[]*wire.Result{changed},
			"exec#a\nset#s\nblock#m\nexec#d 6",
		},
		{
			"requirements", play(`- exec: [a: ]`, `- set: [s: {data: {n: 6}, require: [exec#a]}]`, `- exec: ["d {{ Data.n }}": ]`),
			"exec#a\nset#s require[0]\n| exec#d {{ Data.n }} awaits set#s",
			[]*wire.Result{failed, skipped},
			"exec#a\nset#s require[0]\nexec#d 5",
		},
		{
			"a refresh", play(`- exec: [a: ]`, `- set: [s: {data: {n: 6}, refreshonly: true, subscribe: [exec#a]}]`, `- exec: ["d {{ Data.n }}": ]`),
			"exec#a\nset#s subscribe[0]\n| exec#d {{ Data.n }} awaits set#s",
			[]*wire.Result{changed, {Status: wire.Changed, Refreshed: true}},
			"exec#a\nset#s subscribe[0]\nexec#d 6",
		},
		{
			"no refresh", play(`- exec: [a: ]`, `- set: [s: {data: {n: 6}, refreshonly: true, subscribe: [exec#a]}]`, `- exec: ["d {{ Data.n }}": ]`),
			"exec#a\nset#s subscribe[0]\n| exec#d {{ Data.n }} awaits set#s",
			[]*wire.Result{{}, {}},
			"exec#a\nset#s subscribe[0]\nexec#d 5",
		},
		{
			"a result is a value", play(`- exec: [a: {register: x}]`, `- set: [s: {data: {v: "{{ Results.x.stdout_trimmed }}"}}]`, `- exec: ["d {{ Data.v }}": ]`),
			"exec#a\n| set#s awaits exec#a\nexec#d {{ Data.v }} awaits exec#a",
			[]*wire.Result{said("{{ Data.n }}\n")},
			"exec#a\nset#s\nexec#d {{ Data.n }}",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := compiler(t, tc.manifest, nil, Options{})
			first, err := c.Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, tc.first, awaiting(first))
			if tc.next == "" {
				require.Zero(t, first.Catalog.Until)
				return
			}
			with := web1
			with.Results = tc.results
			next, err := c.Next(t.Context(), first, with)
			require.NoError(t, err)
			require.Equal(t, tc.next, awaiting(next))
		})
	}
}

// TestSetsAcrossManifests sets a value: manifests that are applied later read it, except if they get another value.
func TestSetsAcrossManifests(t *testing.T) {
	c, _, err := nesting(t, `-- site.yaml --
data: {n: 5}
ccm:
  resources:
    - set: [s: {data: {n: 6, x: 1}}]
    - apply: [{in.yaml: {alias: one}}, {in.yaml: {alias: two, data: {n: 9}}}]
    - exec: ["d {{ Data.n }} {{ Data.x }} {{ Data.own ?? 'none' }}": ]
-- in.yaml --
data: {own: 2, x: 0}
ccm:
  resources:
    - exec: ["in {{ Data.n }} {{ Data.x }} {{ Data.own }}": ]
    - set: [in: {data: {n: "{{ Data.n + 1 }}", own: "{{ Data.own + 1 }}"}}]
    - exec: ["then {{ Data.n }} {{ Data.own }}": ]
`, Options{})
	require.NoError(t, err)
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "set#s\nexec#in 6 1 2\nset#in\nexec#then 7 3\napply#in.yaml(one)\nexec#in 9 1 3\nset#in\nexec#then 10 4\napply#in.yaml(two)\nexec#d 10 1 4", awaiting(first))
}

// TestSetsReachDerivedData has data that is made of a value follow the value when it is set, also if the data has no value
// before. A value of vars overrides a set before it, and a set within overrides vars.
func TestSetsReachDerivedData(t *testing.T) {
	c, _, err := nesting(t, `-- site.yaml --
data: {host: a, url: "http://{{ Data.host }}/{{ Data.path ?? '' }}", path: "{{ Data.dir }}/x", deep: "{{ Data.path }}!"}
ccm:
  resources:
    - exec: ["first {{ Data.host }}": ]
    - set: [{s: {data: {host: b}}}, {dir: {data: {dir: /d}}}]
    - exec: ["second {{ Data.url }} {{ Data.deep }}": ]
    - name: m
      vars: {host: v}
      block:
        - exec: ["third {{ Data.url }}": ]
        - set: [t: {data: {host: c}}]
        - exec: ["fourth {{ Data.url }}": ]
    - exec: [{"fifth {{ Data.url }}": {vars: {dir: /e}}}, {"sixth {{ Data.url }}": }]
    - apply: [{in.yaml: }, {in.yaml: {alias: two, data: {host: given}}}]
-- in.yaml --
data: {host: own, link: "{{ Data.host }}{{ Data.dir }}"}
ccm: {resources: [{exec: ["in {{ Data.link }}": ]}]}
`, Options{})
	require.NoError(t, err)
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	with := web1
	with.Results = []*wire.Result{nil, nil, nil, nil, nil, {}, nil, nil}
	next, err := c.Next(t.Context(), first, with) // the block has not failed before its set
	require.NoError(t, err)
	require.Equal(t, "exec#first a\nset#s\nset#dir\nexec#second http://b//d/x /d/x!\nexec#third http://v//d/x\nset#t\nexec#fourth http://c//d/x\nblock#m\n"+
		"exec#fifth http://c//e/x\nexec#sixth http://c//d/x\nexec#in c/d\napply#in.yaml\nexec#in given/d\napply#in.yaml(two)", awaiting(next))
}

// TestDerivedDataAwaits has a resource wait for the result that decides a value which its data is made of.
func TestDerivedDataAwaits(t *testing.T) {
	c := compiler(t, "data: {n: 5, more: \"{{ Data.n }}\", most: \"{{ Data.more }}!\", other: 1}\nccm: {resources: [{exec: [a: {register: x}]}, {set: [s: {data: {n: 6}, control: {if: Results.x.changed}}]}, {exec: [{\"b {{ Data.other }}\": }, {\"c {{ Data.most }}\": }]}]}", nil, Options{})
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "exec#a\n| set#s awaits exec#a\nexec#b 1\nexec#c {{ Data.most }} awaits exec#a", awaiting(first))
	with := web1
	with.Results = []*wire.Result{{Status: wire.Changed}}
	next, err := c.Next(t.Context(), first, with)
	require.NoError(t, err)
	require.Equal(t, "exec#a\nset#s\nexec#b 1\nexec#c 6!", awaiting(next))
}

// TestSetsInEndedManifests has a resource after a manifest depend on the result of a set in it, if a failure may have ended the manifest.
func TestSetsInEndedManifests(t *testing.T) {
	c, _, err := nesting(t, `-- site.yaml --
data: {n: 5, more: "{{ Data.n }}"}
ccm: {resources: [{exec: [a: ]}, {apply: [in.yaml: ]}, {exec: ["d {{ Data.n }}": ]}]}
-- in.yaml --
ccm: {fail_on_error: true, resources: [{exec: [b: ]}, {set: [s: {data: {n: 6}}]}, {exec: ["c {{ Data.n }}": ]}]}
`, Options{})
	require.NoError(t, err)
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "exec#a\nexec#b\nset#s\nexec#c 6\napply#in.yaml\n| exec#d {{ Data.n }} awaits set#s", awaiting(first))
	with := web1
	with.Results = []*wire.Result{nil, nil, {Status: wire.Skipped}}
	next, err := c.Next(t.Context(), first, with)
	require.NoError(t, err)
	require.Equal(t, "exec#a\nexec#b\nset#s\nexec#c 6\napply#in.yaml\nexec#d 5", awaiting(next))
}

// TestSetKeepsItsValues holds that no host receives them.
func TestSetKeepsItsValues(t *testing.T) {
	c := compiler(t, play(`- set: [s: {data: {n: 6}, refreshonly: "{{ Data.yes }}"}]`), nil, Options{})
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"s","refreshonly":true}`, string(first.Catalog.Entries[0].Properties))
	require.True(t, first.Registers(0))
}

// TestCommandLineOverridesSets has -e override set.
func TestCommandLineOverridesSets(t *testing.T) {
	c := compiler(t, play(`- set: [s: {data: {n: 6, m: 1}}]`, `- exec: ["d {{ Data.n }} {{ Data.m }}": ]`), nil, Options{Extra: []templates.Layer{{Name: "-e", Values: map[string]any{"n": "8"}}}})
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "set#s\nexec#d 8 1", awaiting(first))
}

// TestSetSecrets has values that are made of secrets be secrets.
func TestSetSecrets(t *testing.T) {
	for _, line := range []string{
		`- set: [s: {data: {v: "x{{ Data.p }}", w: 1}}]`,
		`- set: [s: {data: {v: xhunter2-hunter2, w: 1}, sensitive: true}]`,
		`- set: [{r: {data: {q: "{{ Data.p }}"}}}, {s: {data: {v: "x{{ Data.q }}"}}}]`,
	} {
		mask := &secret.Mask{}
		manifest := "data: {p: !secret hunter2-hunter2, w: 0}\nccm:\n  resources:\n    " + line + "\n    - exec: [{d: {environment: [\"A={{ Data.v }}\"]}}, {e: {environment: [\"A={{ Data.w }}\"]}}]\n"
		c := compiler(t, manifest, nil, Options{Mask: mask})
		first, err := c.Compile(t.Context(), web1)
		require.NoError(t, err)
		n := len(first.Catalog.Entries)
		require.True(t, first.Catalog.Entries[n-2].Sensitive)
		require.NotContains(t, mask.Text("xhunter2-hunter2"), "hunter2")
		require.Contains(t, string(first.Catalog.Entries[n-2].Properties), "A=xhunter2-hunter2")
	}
	c := compiler(t, "data: {p: !secret hunter2-hunter2}\nccm: {resources: [{set: [s: {data: {v: \"{{ Data.p }}\"}}]}, {exec: [\"d {{ Data.v }}\": ]}]}", nil, Options{})
	_, err := c.Compile(t.Context(), web1)
	require.EqualError(t, err, "site.yaml:2:68: ccm-push would print a secret here: Data.v (value of the variable \"v\", set at site.yaml:2:40)\n  hint: use secrets only in properties and health checks; ccm-push always prints names, aliases, conditions and messages")
}

// TestSetsAreTainted: what a host has said may not choose what facts may not choose, by way of a value that is set.
func TestSetsAreTainted(t *testing.T) {
	const use = `- file: [{/f: {source: "{{ Data.v }}", ` + root + `}}]`
	for _, lines := range [][]string{
		{`- set: [s: {data: {v: "{{ Facts.os }}"}}]`, use},
		{`- exec: [{a: {register: x}}]`, `- set: [s: {data: {v: "{{ Results.x.stdout }}"}}]`, use},
		{use, `- {name: b, block: [{set: [{s: {data: {w: "{{ Facts.os }}"}}}, {t: {data: {v: "{{ Data.w }}"}}}]}]}`},
		{`- set: ["s {{ Item }}": {each: "{{ Facts.list }}", data: {v: "{{ Item }}"}}]`, use},
	} {
		plays, err := load.Parse(t.Context(), "site.yaml", []byte(play(lines...)), builtin.Types())
		require.NoError(t, err)
		plays[0].Folder = t.TempDir()
		_, err = New(plays[0], Options{})
		require.ErrorContains(t, err, "data from a host cannot", lines)
	}
}

// TestSetMistakes lists the errors of plays that set values.
func TestSetMistakes(t *testing.T) {
	for _, tc := range []struct{ manifest, want string }{
		{play(`- set: [s: ]`), "site.yaml:4:13: \"set\" needs \"data\", the values to set\n  hint: write data: {key: value}"},
		{play(`- set: [s: {data: "{{ Facts }}"}]`), "site.yaml:4:23: \"data\" must be a map with fixed keys, not the text \"{{ Facts }}\"\n  hint: write data: {key: value}"},
		{play(`- set: [s: {data: {"{{ Facts.os }}": 1}}]`), "site.yaml:4:24: a key of \"set\" cannot contain an expression\n  hint: write each key as it is; only values can be expressions"},
		{play(`- set: [s: {data: {a: 1}, on: web2}]`), "site.yaml:4:31: \"on\" cannot be set for a resource that sets values\n  hint: remove the key: each host has values of its own"},
		{play(`- set: [s: {data: {a: 1}}]`, `- exec: [{a: {subscribe: [set#s]}}]`), "site.yaml:5:31: type set changes nothing, so no resource can subscribe to it\n  hint: use \"require\" for the order, and subscribe to a resource that changes"},
		{"strategy: graph\n" + play(`- set: [s: {data: {a: 1}}]`), "site.yaml:5:13: \"set\" needs resources that run in the order written\n  hint: remove strategy: graph"},
		{"ccm: {post_message: \"{{ Data.a.b }}\", resources: [set: [s: {data: {a: 1}}]]}", "site.yaml:1:21: a message cannot use values that a resource sets\n  hint: remove the expression"},
	} {
		plays, err := load.Parse(t.Context(), "site.yaml", []byte(tc.manifest), builtin.Types())
		if err == nil {
			plays[0].Folder = t.TempDir()
			_, err = New(plays[0], Options{})
		}
		require.EqualError(t, err, tc.want)
	}
}

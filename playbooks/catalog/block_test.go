package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// showBlocks is show with the parts of blocks, and with the order in a graph.
func showBlocks(entries []wire.Entry) string {
	lines := strings.Split(showNested(entries), "\n")
	for i, e := range entries {
		if e.Scope != nil && e.Scope.Block != nil {
			lines[i] += fmt.Sprintf(" rescue %d always %d", e.Scope.Block.Rescue, e.Scope.Block.Always)
		}
		if len(e.After) > 0 {
			lines[i] += fmt.Sprint(" after", e.After)
		}
	}
	return strings.Join(lines, "\n")
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"the parts", "-- site.yaml --\nccm:\n  resources:\n    - block: [{exec: [a: ]}]\n      rescue: [{exec: [b: , c: ]}]\n      always: [{exec: [d: ]}]\n    - exec: [e: {require: [exec#b, block#site.yaml:3]}]\n",
			"exec#a\nexec#b\nexec#c\nexec#d\nblock#site.yaml:3 [4] rescue 2 always 1\nexec#e require[1 4]"},
		{"what holds for all", "-- site.yaml --\nccm:\n  resources:\n    - exec: [a: ]\n    - name: x\n      require: [exec#a]\n      noop: true\n      sensitive: true\n      block: [{block: [{exec: [b: ]}], name: y}]\n      rescue: [{exec: [c: ]}]\n",
			"exec#a\nexec#b require[0] noop sensitive\nblock#y require[0] noop sensitive [1] rescue 0 always 0\nexec#c require[0] noop sensitive\nblock#x require[0] noop sensitive [3] rescue 1 always 0"},
		{"control", "-- site.yaml --\nccm:\n  resources:\n    - name: x\n      control: {if: 1 == 2}\n      block: [{exec: [\"{{ Data.nowhere }}\": ]}]\n",
			"block#x excluded"},
		{"each in each", "-- site.yaml --\ndata: {l: [{n: a, p: [1, 2]}, {n: b, p: [3]}]}\nccm:\n  resources:\n    - name: \"x {{ Item.n }}\"\n      each: \"{{ Data.l }}\"\n      control: {if: Item.n != 'c'}\n" +
			"      block:\n        - exec: [\"{{ Item.n }}\": , \"{{ Outer.n }}{{ Item }}\": {each: \"{{ Item.p }}\", require: [\"exec#{{ Outer.n }}\"], control: {unless: Outer.n == 'b'}}]\n",
			"exec#a\nexec#a1 require[0]\nexec#a2 require[0]\nblock#x a [3] rescue 0 always 0\nexec#b\nexec#b3 excluded\nblock#x b [2] rescue 0 always 0"},
		{"a block in a block, each with each", "-- site.yaml --\nccm:\n  resources:\n    - name: o\n      each: [1, 2]\n      block: [{name: i, each: [3, 4], block: [{exec: [\"{{ Outer }}{{ Item }}\": ]}]}]\n    - exec: [end: {require: [block#o]}]\n",
			"exec#13\nblock#i [1] rescue 0 always 0\nexec#14\nblock#i [1] rescue 0 always 0\nblock#o [4] rescue 0 always 0\nexec#23\nblock#i [1] rescue 0 always 0\nexec#24\nblock#i [1] rescue 0 always 0\nblock#o [4] rescue 0 always 0\nexec#end require[4 9]"},
		{"a graph", "-- site.yaml --\nstrategy: graph\nccm:\n  resources:\n    - name: x\n      always: [{exec: [z: ]}]\n      rescue: [{exec: [r: ]}]\n      block: [{exec: [b: {require: [exec#a]}, a: ]}, {name: i, block: [{exec: [c: ]}]}]\n    - exec: [e: ]\n",
			"exec#a\nexec#b require[0]\nexec#c\nblock#i [1] rescue 0 always 0\nexec#r after[0 1 3]\nexec#z after[0 1 3 4]\nblock#x [6] rescue 1 always 1\nexec#e"},
		{"in a nested manifest, which is in a block", "-- site.yaml --\nccm:\n  resources:\n    - name: x\n      each: [1, 2]\n      block: [{apply: [n.yaml: {data: {k: \"{{ Item }}\"}}]}]\n      rescue: [{apply: [n.yaml: {data: {k: r}}]}]\n" +
			"-- n.yaml --\nccm:\n  resources:\n    - name: y\n      block: [{exec: [\"{{ Data.k }}\": ]}]\n      always: [{exec: [\"{{ Data.k }} z\": ]}]\n",
			"exec#1\nexec#1 z\nblock#y [2] rescue 0 always 1\napply#n.yaml [3]\nexec#r\nexec#r z\nblock#y [2] rescue 0 always 1\napply#n.yaml [3]\nblock#x [8] rescue 4 always 0\n" +
				"exec#2\nexec#2 z\nblock#y [2] rescue 0 always 1\napply#n.yaml [3]\nexec#r\nexec#r z\nblock#y [2] rescue 0 always 1\napply#n.yaml [3]\nblock#x [8] rescue 4 always 0"},
		{"the name of a nested manifest is computed", "-- site.yaml --\ndata: {f: n.yaml}\nccm: {resources: [{name: x, block: [{apply: [\"{{ Data.f }}\": ]}]}]}\n-- n.yaml --\nccm: {resources: [exec: [a: ]]}\n",
			"exec#a\napply#n.yaml [1]\nblock#x [2] rescue 0 always 0"},
		{"each in a nested manifest that each applies", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {each: [a, b], data: {k: \"{{ Item }}\", l: [1, 2]}}]]}\n-- n.yaml --\nccm: {resources: [exec: [\"{{ Data.k }}{{ Item }}\": {each: \"{{ Data.l }}\"}]]}\n",
			"exec#a1\nexec#a2\napply#n.yaml [2]\nexec#b1\nexec#b2\napply#n.yaml [2]"},
		{"written by a template", "-- site.yaml --\ndata: {l: [a, b]}\nccm: {resources_jet_file: r.jet}\n-- r.jet --\n- name: x\n  block:\n[[ range _, i := Data.l ]]  - exec: [ [[ i ]]: ]\n[[ end ]]  rescue: [{exec: [r: ]}]\n",
			"exec#a\nexec#b\nexec#r\nblock#x [3] rescue 1 always 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiler, _, err := nesting(t, c.archive, Options{})
			require.NoError(t, err)
			for range 2 { // the second time from the memo
				compiled, err := compiler.Compile(t.Context(), web1)
				require.NoError(t, err)
				require.Equal(t, c.want, showBlocks(compiled.Catalog.Entries))
			}
		})
	}
}

// TestUserOfABlock checks that an exec without a user has the nearest block's user, before the play's.
func TestUserOfABlock(t *testing.T) {
	c := compiler(t, `
defaults: {exec: {user: play, timeout: 5s}}
ccm:
  resources:
    - user: outer
      block:
        - exec: [a: , b: {user: own}]
        - user: "{{ Item }}"
          each: [inner]
          block: [{exec: [c: ]}]
    - exec: [d: ]
`, nil, Options{})
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	var users []string
	for _, e := range compiled.Catalog.Entries {
		if _, user, ok := strings.Cut(string(e.Properties), `"user":"`); ok {
			user, _, _ = strings.Cut(user, `"`)
			users = append(users, e.Name+" "+user)
			require.Contains(t, string(e.Properties), `"timeout":"5s"`)
		}
	}
	require.Equal(t, []string{"a outer", "b own", "c inner", "d play"}, users)
}

// TestSecretsInBlocks: what reads a secret of the element of a block is sensitive, and what reads
// something else is not.
func TestSecretsInBlocks(t *testing.T) {
	const text = `
data: {l: [{n: a, k: !secret hunter2-hunter2, p: [1], q: [!secret hunter3-hunter3]}]}
ccm:
  resources:
    - each: "{{ Data.l }}"
      name: x
      block:
        - exec:
            - "name {{ Item.n }}": {}
            - secret: {environment: ["K={{ Item.k }}"]}
            - "{{ Outer.n }} {{ Item }}": {each: "{{ Item.p }}"}
            - "outer": {each: "{{ Item.p }}", environment: ["K={{ Outer.k }}"]}
            - "list": {each: "{{ Item.q }}", environment: ["K={{ Item }}"]}
%s`
	compiled, err := compiler(t, fmt.Sprintf(text, ""), nil, Options{}).Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "exec#name a\nexec#secret sensitive\nexec#a 1\nexec#outer sensitive\nexec#list sensitive\nblock#x [5] rescue 0 always 0", showBlocks(compiled.Catalog.Entries))
	for _, name := range []string{`"{{ Item.k }}": {}`, `"{{ Outer.k }}": {each: [1]}`} {
		_, err := compiler(t, fmt.Sprintf(text, "            - "+name+"\n"), nil, Options{}).Compile(t.Context(), web1)
		require.ErrorContains(t, err, "ccm-push would print a secret here", name)
	}
}

// TestHostsChooseNothingInBlocks: the element of a block may be made of facts.
func TestHostsChooseNothingInBlocks(t *testing.T) {
	for _, name := range []string{"{{ Item }}", "{{ Outer }}"} { // the check does not distinguish which of them a host can influence
		_, _, err := nesting(t, `
-- site.yaml --
ccm:
  resources:
    - each: "{{ Facts.list }}"
      block:
        - block: [{file: [/x: {each: [1], source: "`+name+`"}]}]
          each: ["{{ Item }}"]
`, Options{})
		require.ErrorContains(t, err, "data from a host cannot choose which file ccm-push reads", name)
	}
}

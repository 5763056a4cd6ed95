package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// TestHostsChooseNothingElsewhere has values that hosts have a say in at resources that run on others.
func TestHostsChooseNothingElsewhere(t *testing.T) {
	const hint = "\n  hint: use data of the inventory; or write one resource for each possible value, each with a condition, which can read such data: control: {if: Facts.x == 'y'}"
	only := func(what string) string {
		return what + " cannot contain data that the host of the play sends, because \"on\" selects another host for this resource" + hint
	}
	for _, c := range []struct{ name, manifest, want string }{
		{"where", `ccm: {resources: [exec: [x: {on: "{{ Facts.os }}"}]]}`,
			"site.yaml:1:34: data from a host cannot choose where a resource runs\n  hint: use data of the inventory"},
		{"where, by data", `data: {d: "{{ Facts.os }}"}
ccm: {resources: [exec: [x: {on: "{{ Data.d }}"}]]}`,
			"site.yaml:2:34: data from a host cannot choose where a resource runs\n  hint: use data of the inventory"},
		{"where, by elements", `ccm: {resources: [exec: [x: {each: "{{ Facts.list }}", on: "{{ Item }}"}]]}`,
			"site.yaml:1:60: data from a host cannot choose where a resource runs\n  hint: use data of the inventory"},
		{"its name", `ccm: {resources: [exec: ["x {{ Facts.os }}": {on: lb1}]]}`,
			"site.yaml:1:26: data from a host cannot be used as the name of a resource that runs on another host" + hint},
		{"a command", `ccm: {resources: [exec: [x: {on: lb1, command: "x {{ Facts.os }}"}]]}`, "site.yaml:1:48: " + only(`the property "command" of type exec`)},
		{"an environment", `ccm: {resources: [exec: [x: {on: lb1, environment: ["A={{ Facts.os }}"]}]]}`, "site.yaml:1:52: " + only(`the property "environment" of type exec`)},
		{"an owner", `ccm: {resources: [file: [/x: {on: lb1, content: "", owner: "{{ Facts.os }}", group: a, mode: "0600"}]]}`, "site.yaml:1:60: " + only(`the property "owner" of type file`)},
		{"a health check", `ccm: {resources: [exec: [x: {on: lb1, health_checks: [{command: "x {{ Facts.os }}"}]}]]}`,
			"site.yaml:1:54: data from a host cannot be in a health check on another host" + hint},
		{"a result", `ccm: {resources: [exec: [{say: {command: id, register: said}}, {x: {on: controller, command: "x {{ Results.said.stdout }}"}}]]}`,
			"site.yaml:1:94: " + only(`the property "command" of type exec`)},
		{"facts of another host", `hostfacts: [web2]
ccm: {resources: [exec: [x: {on: controller, command: "x {{ Hosts.web2.facts.os }}"}]]}`, "site.yaml:2:55: " + only(`the property "command" of type exec`)},
		{"a place of a block", `ccm: {resources: [{on: controller, block: [exec: [x: {command: "x {{ Facts.os }}"}]]}]}`,
			"site.yaml:1:64: " + only(`the property "command" of type exec`)},
		{"words of a command", `ccm: {resources: [exec: [x: {on: controller, command: "x {{ Facts.os | upper() }}", provider: shell}]]}`,
			"site.yaml:1:55: " + only(`the property "command" of type exec`)},
		{"a path", `ccm: {resources: [file: ["/x/{{ Facts.os }}": {on: controller, content: "", owner: a, group: a, mode: "0600"}]]}`,
			"site.yaml:1:26: data from a host cannot be used as the name of a resource that runs on another host" + hint},
		{"the content", `ccm: {resources: [file: [/x: {on: controller, content: "{{ Facts.os }}", owner: a, group: a, mode: "0600"}]]}`, ""},
		{"a condition", `ccm: {resources: [exec: [x: {on: lb1, control: {if: "Facts.os == 'x'"}, command: "{{ Facts.os == 'x' ? 'a' : 'b' }}"}]]}`, ""},
		{"the inventory's", `ccm: {resources: [exec: [x: {on: "{{ Host.name }}", command: "x {{ Host.name }}"}]]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(c.manifest), builtin.Types())
			require.NoError(t, err)
			plays[0].Folder = t.TempDir()
			compiler, err := New(plays[0], Options{})
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			compiler.Close()
		})
	}
}

// TestElsewhere has a resource that runs on another host: its own host gets nothing of it but its place.
func TestElsewhere(t *testing.T) {
	const text = `ccm:
  resources:
    - exec: [first: ]
    - file:
        - /x: {on: lb1, content: "{{ repeat('secret', 200) }}", owner: a, group: a, mode: "0600", require: ["exec#first"], retry: 3, alias: there}
    - exec: [last: {subscribe: ["file#there"], on: web1}]
`
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
	require.NoError(t, err)
	plays[0].Folder = t.TempDir()
	compiler, err := New(plays[0], Options{HasHost: func(name string) bool { return name != "lb2" }})
	require.NoError(t, err)
	defer compiler.Close()
	compiled, err := compiler.Compile(t.Context(), Host{Name: "web1"})
	require.NoError(t, err)
	here := compiled.Catalog.Entries
	require.Equal(t, "lb1", here[1].On)
	require.Empty(t, here[1].Properties)
	require.Equal(t, []int{0}, here[1].Require)
	require.Equal(t, []int{1}, here[2].Subscribe)
	require.Empty(t, here[2].On, "it names its own host")
	require.NotEmpty(t, here[2].Properties)
	require.Empty(t, compiled.Contents.texts)
	require.Len(t, compiled.Elsewhere, 1)
	there := compiled.Elsewhere[1].Catalog.Entries
	require.Len(t, there, 1)
	require.Equal(t, 3, there[0].Retry)
	require.Empty(t, there[0].Require)
	require.Empty(t, there[0].On)
	require.Len(t, compiled.Elsewhere[1].Contents.texts, 1)
	line, err := compiled.Packet()
	require.NoError(t, err)
	require.NotEmpty(t, line)
}

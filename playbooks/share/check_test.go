package share

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

const fourHosts = `
all:
  children:
    apps: {hosts: {app1: , app2: }}
    webs: {hosts: {web1: , web2: }}
`

// token is a resource that others receive something of.
const token = `
      - exec:
          - token: {command: mktoken, export: [stdout]}`

// key is a resource that receives it from app1.
const key = `
      - file:
          - /etc/key: {owner: root, group: root, mode: "0600", recv: {content: {host: app1, from: exec#token.stdout}}}`

func onePlay(name, hosts, more string, resources ...string) string {
	return "- name: " + name + "\n  hosts: " + hosts + "\n" + more + "  ccm:\n    resources:" + strings.Join(resources, "") + "\n"
}

// runOf is the run of a manifest.
func runOf(t *testing.T, hosts, site, limit string) Run {
	t.Helper()
	inv, err := inventory.Parse("hosts.yaml", []byte(hosts))
	require.NoError(t, err)
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(site), builtin.Types())
	require.NoError(t, err)
	run := Run{Inventory: inv, Plays: plays, Limited: limit != ""}
	for _, p := range plays {
		list, _, err := inv.Select(p.HostPattern())
		require.NoError(t, err)
		if run.Limited {
			list, _, err = inv.Limit(list, limit)
			if !errors.Is(err, inventory.ErrNothing) {
				require.NoError(t, err)
			}
		}
		run.Hosts = append(run.Hosts, list)
		if len(p.Serial) > 0 {
			list = list[:p.Serial[0].Of(len(list))]
		}
		run.First = append(run.First, list)
	}
	return run
}

func TestImportsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ name, site, limit, err string }{
		{"the same play", onePlay("p", "all", "", token, key), "", ""},
		{"an earlier play", onePlay("a", "app1", "", token) + onePlay("b", "webs", "", key), "", ""},
		{"the host that receives", onePlay("p", "app1", "", token, key), "", ""},
		{"batches, the exporter in the first", onePlay("p", "all", "  serial: 1\n", token, key), "", ""},
		{"no such host", onePlay("a", "app1", "", token) + onePlay("b", "webs", "", strings.ReplaceAll(key, "app1", "ap1")), "",
			"site.yaml:12:87: no host of the inventory is called \"ap1\"\n  hint: did you mean \"app1\"?"},
		{"a host that is not in that play", onePlay("a", "app2", "", token) + onePlay("b", "all", "", key), "",
			"site.yaml:12:87: exec#token is in the play \"a\", which does not run on the host app1\n  hint: set \"host\" to a host of the play \"a\""},
		{"a host that --limit leaves out", onePlay("a", "app1", "", token) + onePlay("b", "webs", "", key), "web1",
			"site.yaml:12:87: exec#token is in the play \"a\", which does not run on the host app1\n  hint: set \"host\" to a host of the play \"a\", or include app1 in --limit"},
		{"a later play", onePlay("a", "webs", "", key) + onePlay("b", "app1", "", token), "",
			"site.yaml:6:99: exec#token gives stdout only later, in play \"b\"\n  hint: move the play that receives it after that play"},
		{"no such resource", onePlay("p", "all", "", key), "",
			"site.yaml:6:99: no resource is called exec#token"},
		{"what is not exported", onePlay("p", "all", "", strings.ReplaceAll(token, "stdout", "stderr"), key), "",
			"site.yaml:8:99: exec#token, at site.yaml:6:13, does not export \"stdout\"\n  hint: write there export: [stdout]"},
		{"a later resource", onePlay("p", "all", "", key, token), "",
			"site.yaml:6:99: exec#token is defined later, at site.yaml:8:13\n  hint: move exec#token above the resource that receives its value"},
		{"itself", onePlay("p", "all", "", `
      - exec:
          - a: {command: a, export: [stdout], recv: {cwd: {host: app1, from: exec#a.stdout}}}`), "",
			"site.yaml:6:78: hosts would wait for each other in a circle: exec#a → exec#a\n  hint: remove one of these references"},
		{"a circle", onePlay("p", "all", "", `
      - exec:
          - a: {command: a, export: [stdout], recv: {cwd: {host: app1, from: exec#b.stdout}}}
          - b: {command: b, export: [stdout], recv: {cwd: {host: app2, from: exec#c.stdout}}}
          - c: {command: c, export: [stdout], recv: {cwd: {host: web1, from: exec#a.stdout}}}`), "",
			"site.yaml:6:78: hosts would wait for each other in a circle: exec#a → exec#b → exec#c → exec#a\n  hint: remove one of these references\n" +
				"site.yaml:7:78: hosts would wait for each other in a circle: exec#b → exec#c → exec#a → exec#b\n  hint: remove one of these references"},
		{"a chain", onePlay("p", "all", "", `
      - exec:
          - a: {command: a, export: [stdout]}
          - b: {command: b, export: [stdout], recv: {cwd: {host: app2, from: exec#a.stdout}}}
          - c: {command: c, export: [stdout], recv: {cwd: {host: web1, from: exec#b.stdout}}}`), "", ""},
		{"a later batch", onePlay("p", "web1,web2,app1", "  serial: 2\n", token, key), "",
			"site.yaml:9:87: web1 cannot receive a value from app1, because app1 runs in a later batch\n  hint: move exec#token into an earlier play"},
		{"a later batch, if that is for some hosts only", onePlay("p", "web1,web2,app1", "  serial: 2\n", token,
			strings.Replace(key, "owner: root", `control: {if: "Data.x == 1"}, owner: root`, 1)), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := runOf(t, fourHosts, c.site, c.limit).Check(); c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// TestImportsWithoutInventory checks a manifest alone, as validate does.
func TestImportsWithoutInventory(t *testing.T) {
	list, err := load.Parse(t.Context(), "site.yaml", []byte(onePlay("p", "all", "", key, token)), builtin.Types())
	require.NoError(t, err)
	require.EqualError(t, Run{Plays: list}.Check(),
		"site.yaml:6:99: exec#token is defined later, at site.yaml:8:13\n  hint: move exec#token above the resource that receives its value")
}

func TestImportOfWhatIsNotSelected(t *testing.T) {
	run := runOf(t, fourHosts, onePlay("p", "all", "", token, key), "")
	list := run.Plays[0].Resources
	list[0].Unselected = true
	require.EqualError(t, run.Check(), "site.yaml:8:99: exec#token is not selected in this run\n  hint: change --tags, --skip-tags or --start-at so that they select it")
	list[0].Unselected, list[1].Unselected = false, true
	require.NoError(t, run.Check(), "what receives it is not run either")
}

package listing_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
)

// hostile has text that a terminal would obey, and a password, in every possible place.
const hostile = `
all:
  vars: {"k\e[2J": "v\e]0;x\a", "map": {"\u202e": ["\u009b"]}}
  children:
    web:
      vars: {ansible_group_priority: 3, ansible_become_pass: hunter2}
      hosts: {web1: {ansible_password: hunter2, "\e[1m": 1}, web2: }
`

// everything returns every listing of an inventory.
func everything(t testing.TB, inv *inventory.Inventory) []string {
	t.Helper()
	list, _ := listing.List(inv, inv.Hosts(), false)
	export, _ := listing.List(inv, inv.Hosts(), true)
	graph, _ := listing.Graph(inv, inv.Group("all"), inv.Hosts(), true)
	texts := []string{list, export, graph, listing.TreeOf(inv, inv.Hosts(), []string{"f\x1b"}).String()}
	for _, h := range inv.Hosts() {
		vars, _ := listing.HostVars(h)
		found, err := listing.Explain(h, "")
		require.NoError(t, err)
		texts = append(texts, vars, listing.ExplanationText(found))
	}
	return texts
}

func TestNothingListedIsObeyedOrSecret(t *testing.T) {
	inv, err := inventory.Parse("hosts.yaml", []byte(hostile))
	require.NoError(t, err)
	for _, text := range everything(t, inv) {
		require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", text)
		require.NotContains(t, text, "hunter2")
	}
}

func TestWithheld(t *testing.T) {
	inv, err := inventory.Parse("hosts.yaml", []byte(hostile))
	require.NoError(t, err)
	without, err := inventory.Parse("hosts.yaml", []byte("web: {hosts: {web1: }}"))
	require.NoError(t, err)
	for _, tt := range []struct {
		inv  *inventory.Inventory
		want bool
	}{{inv, true}, {without, false}} {
		_, withheld := listing.List(tt.inv, tt.inv.Hosts(), false)
		require.Equal(t, tt.want, withheld)
		_, withheld = listing.List(tt.inv, tt.inv.Hosts(), true)
		require.False(t, withheld, "passwords are no variables that are exported")
		_, withheld = listing.Graph(tt.inv, tt.inv.Group("all"), tt.inv.Hosts(), true)
		require.Equal(t, tt.want, withheld)
		_, withheld = listing.Graph(tt.inv, tt.inv.Group("all"), tt.inv.Hosts(), false)
		require.False(t, withheld)
	}
}

func TestExplainErrors(t *testing.T) {
	inv, err := inventory.Parse("hosts.yaml", []byte("web: {hosts: {web1: {http_port: 1, ansible_user: me}}}"))
	require.NoError(t, err)
	_, err = listing.Explain(inv.Host("web1"), "http_prot")
	require.EqualError(t, err, `nothing sets "http_prot" for web1 in the inventory; did you mean "http_port"?`)
	found, err := listing.Explain(inv.Host("web1"), "user")
	require.NoError(t, err)
	require.Equal(t, []listing.Explanation{{Host: "web1", Key: "connect.user", Kind: "connection", Value: "me", Places: []listing.Origin{
		{Position: "hosts.yaml:1:50", Layer: "host web1", Source: "inventory", Name: "ansible_user", Value: "me", Wins: true},
	}}}, found)
}

func TestLint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts.yaml")
	require.NoError(t, os.WriteFile(path, []byte("web: {hosts: {web1: {on: 0755, groups: x, ansible_password: 2024-01-02}}}\n"+
		"db: {vars: {a: 1.10, b: 3.0, c: '1.10', d: 0.00001, e: 2.00, f: 1.5, g: -0.50, h: 12345678901234567.25, i: 10, j: .5, k: [1.20]}}\n"), 0o600))
	inv, err := inventory.Load(t.Context(), []string{path}, inventory.Options{})
	require.NoError(t, err)
	var lines []string
	for _, f := range listing.Lint(inv) {
		lines = append(lines, strings.TrimPrefix(f.String(), path))
	}
	require.Equal(t, []string{
		":1:22: Ansible reads the key \"on\" as true, but ccm-push reads the key as \"on\"\n  hint: write true or false for a boolean, or 'on' for a text",
		":1:26: 0755 is the number 493\n  hint: write 493 for the number, or '0755' for a text",
		":1:32: Ansible itself sets the variable \"groups\"\n  hint: use another name",
		":1:61: the key \"password\" contains a password in clear text\n  hint: let ccm-push prompt for the password, with -k (login) or -K (become); or log in with an SSH key",
		":2:16: 1.10 is the number 1.1\n  hint: write 1.1, or '1.10' for the text",
		":2:56: 2.00 is the number 2.0\n  hint: write 2.0, or '2.00' for the text",
		":2:73: -0.50 is the number -0.5\n  hint: write -0.5, or '-0.50' for the text",
		":2:83: 12345678901234567.25 is the number 12345678901234568.0\n  hint: write 12345678901234568.0, or '12345678901234567.25' for the text",
		":2:123: 1.20 is the number 1.2\n  hint: write 1.2, or '1.20' for the text",
	}, lines)
}

// FuzzListing checks that JSON listings are JSON, and that no listing has text that a terminal would obey.
func FuzzListing(f *testing.F) {
	f.Add([]byte(hostile))
	f.Add([]byte("all: {hosts: {a: {x: .inf, y: {1: a}}}, children: {b: {children: {c: {hosts: {a: }}}}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv, err := inventory.Parse("hosts.yaml", text)
		if err != nil || len(inv.Hosts())+len(inv.Groups()) > 200 {
			return
		}
		texts := everything(t, inv)
		for _, text := range texts {
			require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f]", text)
		}
		require.True(t, json.Valid([]byte(texts[0])), texts[0])
		require.True(t, json.Valid([]byte(texts[1])), texts[1])
	})
}

package inventory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// wholeFleet returns an inventory with every kind of host setting.
func wholeFleet(t *testing.T) *Inventory {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hosts.yaml": `all:
  vars: {port: 80, limits: {files: 10, procs: 5}, ansible_user: deploy}
  children:
    web:
      vars: {role: web, ansible_group_priority: 5, token: !secret t0ken}
      connect: {become: true}
      children:
        edge:
          hosts:
            web1: {connect: {address: 192.0.2.1, port: 2222, become_password: pw-of-web1}, list: [1, 2.5, ~, "yes"]}
            web2: {ansible_host: 192.0.2.2, ansible_password: pw-of-web2, limits: {files: 20}}
    db:
      vars: {role: db, canary: only-for-databases}
      hosts:
        db1: {connect: {password: pw-of-db1}}
        web2: {}
    empty: {}
  hosts:
    lone: {}
`,
		"group_vars/all.yaml":  "from: group_vars\n",
		"group_vars/edge.yaml": "edge: true\nport: 8080\n",
		"host_vars/web1.yaml":  "mine: 1\nansible_port: 2223\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	inv, err := Load(t.Context(), []string{filepath.Join(dir, "hosts.yaml")}, Options{MergeMaps: true})
	require.NoError(t, err)
	return inv
}

// carried returns a part of an inventory as received by another machine.
func carried(t *testing.T, inv *Inventory, login func(*Host) string, hosts ...string) (*Inventory, string) {
	t.Helper()
	var list []*Host
	for _, name := range hosts {
		list = append(list, inv.Host(name))
	}
	text, err := json.Marshal(inv.Part(list, login))
	require.NoError(t, err)
	var part Part
	require.NoError(t, json.Unmarshal(text, &part))
	there, err := part.Inventory()
	require.NoError(t, err)
	return there, string(text)
}

func TestPartSaysTheSame(t *testing.T) {
	inv := wholeFleet(t)
	there, _ := carried(t, inv, nil, "web2", "web1", "db1", "lone")
	require.Len(t, there.Hosts(), 4)
	for _, h := range there.Hosts() {
		was := inv.Host(h.Name)
		require.Equal(t, was.Vars(), h.Vars(), h.Name)
		require.Equal(t, was.Connection(), h.Connection(), h.Name)
		require.Equal(t, was.Layers(), h.Layers(), h.Name)
		require.Equal(t, was.Secrets(), h.Secrets(), h.Name)
		require.Equal(t, was.Pos(), h.Pos())
		require.Equal(t, groupNames(was.Groups), groupNames(h.Groups), h.Name)
	}
	require.Equal(t, inv.Passwords(), there.Passwords())
	require.Empty(t, there.Warnings())
}

func TestPartHasNothingOfOthers(t *testing.T) {
	inv := wholeFleet(t)
	there, text := carried(t, inv, func(*Host) string { return "who-logs-in" }, "web1")
	require.Len(t, there.Hosts(), 1)
	for _, other := range []string{"web2", "db1", "lone", "only-for-databases", "192.0.2.2", "pw-of-web2", "pw-of-db1", "empty"} {
		require.NotContains(t, text, other)
	}
	require.Contains(t, text, "pw-of-web1")
	require.Equal(t, "who-logs-in", there.Host("web1").Connection().User)
	require.Equal(t, 2223, there.Host("web1").Connection().Port)
}

// TestPartBreaches reads parts that no inventory returns: each is an error.
func TestPartBreaches(t *testing.T) {
	for text, want := range map[string]string{
		`{"hosts":[{"name":"a"}]}`:                                                                                           `does not have its group "all"`,
		`{"hosts":[{"name":"a"}],"groups":[{"name":"all"}]}`:                                                                 `the host "a" has no group`,
		`{"hosts":[{"name":""}],"groups":[{"name":"all"}]}`:                                                                  "without a name",
		`{"groups":[{"name":"all"},{"name":"all"}]}`:                                                                         `the group "all" twice`,
		`{"groups":[{"name":"x"}]}`:                                                                                          `the group "x" outside of all`,
		`{"folders":-1}`:                                                                                                     "-1 folders",
		`{"folders":1000000000}`:                                                                                             "1000000000 folders",
		`{"groups":[{"name":"all","files":[{"folder":7}]}]}`:                                                                 "a file of folder 7 of 0",
		`{"hosts":[{"name":"a","groups":["x"]}],"groups":[{"name":"all"}]}`:                                                  `the group "x"`,
		`{"hosts":[{"name":"a","groups":["all","all"]}],"groups":[{"name":"all"}]}`:                                          `the group "all" twice`,
		`{"hosts":[{"name":"a","groups":["all"]}],"groups":[{"name":"all","children":["all"]}]}`:                             `the group "all" within itself`,
		`{"hosts":[{"name":"a","groups":["all"]},{"name":"a","groups":["all"]}],"groups":[{"name":"all"}]}`:                  `the host "a" twice`,
		`{"hosts":[{"name":"a","groups":["x"]}],"groups":[{"name":"all","children":["x","x"]},{"name":"x"}]}`:                `"x" twice in "all"`,
		`{"hosts":[{"name":"a","groups":["x"]}],"groups":[{"name":"all","children":["x"]},{"name":"x","children":["all"]}]}`: `within itself`,
	} {
		var part Part
		require.NoError(t, json.Unmarshal([]byte(text), &part))
		_, err := part.Inventory()
		require.ErrorContains(t, err, want, text)
	}
}

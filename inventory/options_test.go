package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func loadWith(t *testing.T, text string, o Options) (*Inventory, error) {
	t.Helper()
	t.Chdir(tree(t, files{"hosts.yml": text}))
	return Load(t.Context(), []string{"hosts.yml"}, o)
}

func TestAllowEmpty(t *testing.T) {
	inv, err := loadWith(t, fixture, Options{AllowEmpty: true})
	require.NoError(t, err)
	for _, tt := range []struct{ pattern, limit, warning string }{
		{"webby_empty", "", `pattern "webby_empty": selects no host`},
		{"!all", "", `pattern "!all": selects no host`},
		{"nosuch", "", `pattern "nosuch": selects no host: "nosuch" matches no host or group`},
		{"", "", "pattern \"\": the pattern is empty\n  hint: write all for every host"},
		{"web", "nosuch", `pattern "nosuch": selects no host: "nosuch" matches no host or group`},
		{"web", "db", `pattern "db": the limit excludes all selected hosts`},
	} {
		hosts, warnings, err := inv.Select(tt.pattern)
		require.NoError(t, err)
		if tt.limit != "" {
			hosts, warnings, err = inv.Limit(hosts, tt.limit)
			require.NoError(t, err)
		}
		require.Empty(t, hosts)
		require.Equal(t, []string{tt.warning}, warnings)
	}
	_, _, err = inv.Select("web[9]")
	require.EqualError(t, err, "pattern \"web[9]\": the index is past the end\n  hint: the pattern matches 4 hosts: use an index from 0 to 3")
}

func TestStrictPatterns(t *testing.T) {
	inv, err := loadWith(t, fixture, Options{StrictPatterns: true})
	require.NoError(t, err)
	_, _, err = inv.Select("canery,web01")
	require.EqualError(t, err, "pattern \"canery,web01\": \"canery\" matches no host or group\n  hint: did you mean \"canary\"?")
	_, _, err = inv.Select("web[03-06]")
	require.EqualError(t, err, `pattern "web[03-06]": "web[03-06]": 2 of 4 names are not in the inventory, the first is web05`)
	hosts, _, err := inv.Select("web01,db")
	require.NoError(t, err)
	require.Equal(t, "web01 db-a db-b db-c", namesOf(hosts))
}

func TestAllowNameClash(t *testing.T) {
	const text = "web: {hosts: {db: }}\ndb: {hosts: {pg: , all: }}\n"
	inv, err := loadWith(t, text, Options{AllowNameClash: true})
	require.NoError(t, err)
	require.Equal(t, []string{
		`hosts.yml:1:15: "db" is a host and a group at hosts.yml:2:1: a pattern means the host`,
		`hosts.yml:2:20: "all" is a host and a group that always exists: a pattern means the host`,
	}, inv.Warnings())
	for pattern, want := range map[string]string{"db": "db", "all": "all", "d*": "pg all db", "web": "db"} {
		hosts, _, err := inv.Select(pattern)
		require.NoError(t, err)
		require.Equal(t, want, namesOf(hosts), pattern)
	}
}

func TestImplicitLocalhost(t *testing.T) {
	dir := tree(t, files{"hosts.yml": "all: {vars: {x: 1}, hosts: {h: }}", "group_vars/all": "y: 1", "host_vars/localhost": "z: 1"})
	inv, err := Load(t.Context(), below(dir, "hosts.yml"), Options{AllowImplicitLocalhost: true})
	require.NoError(t, err)
	for pattern, want := range map[string]string{
		"localhost": "localhost", "127.0.0.1": "localhost", "::1": "localhost", "h,localhost,127.0.0.1": "h localhost", "all": "h", "*": "h", "~local": "",
		"all:!localhost": "h", "localhost,&all": "",
	} {
		hosts, _, err := inv.Select(pattern)
		if want == "" {
			require.ErrorIs(t, err, ErrNothing, pattern)
			continue
		}
		require.NoError(t, err, pattern)
		require.Equal(t, want, namesOf(hosts), pattern)
	}
	local := inv.Host("localhost")
	require.Equal(t, map[string]any{"x": int64(1), "y": int64(1), "z": int64(1), "ansible_connection": "local"}, local.Vars())
	require.True(t, local.Connection().Local)
	require.Equal(t, "the implicit localhost", local.Pos())
	require.Equal(t, "h", namesOf(inv.Hosts()))

	inv, err = loadWith(t, "all: {hosts: {127.0.0.1: {connect: {port: 2}}}}", Options{AllowImplicitLocalhost: true})
	require.NoError(t, err)
	hosts, _, err := inv.Select("localhost")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", namesOf(hosts)) // as listed
	require.False(t, hosts[0].Connection().Local)

	inv, err = loadWith(t, "all: {hosts: {h: }}", Options{})
	require.NoError(t, err)
	require.Nil(t, inv.Host("localhost"))
}

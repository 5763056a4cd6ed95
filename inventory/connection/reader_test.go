package connection

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// reading returns a reader, and the list of keys that it reports as ignored or misspelt.
func reading() (r Reader, told *[]string) {
	told = new([]string)
	return Reader{
		Errs:     new(yamlpos.Errors),
		Known:    []string{"ansible_group_priority"},
		Ignored:  func(key *yamlpos.Node) { *told = append(*told, key.Text+" is ignored") },
		Misspelt: func(key *yamlpos.Node, meant string) { *told = append(*told, key.Text+" for "+meant) },
	}, told
}

func parse(t testing.TB, text string) *yamlpos.Node {
	t.Helper()
	documents, err := yamlpos.Parse("f", []byte(text))
	require.NoError(t, err)
	return documents[0]
}

// hostVariables are the variables of a host, by name.
type hostVariables map[string]*yamlpos.Node

func (v hostVariables) Variable(name string) *yamlpos.Node { return v[name] }
func (v hostVariables) VariableNames() []string            { return slices.Collect(maps.Keys(v)) }

func TestResolve(t *testing.T) {
	r, told := reading()
	low := r.Variables(parse(t, "{ansible_port: 1, ansible_user: low, ansible_group_priority: 3, ansible_group_prority: 3, ansible_pipelining: true, x: 1}"))
	low.Add(r.Connect(parse(t, "{user: me, jump: gate, become_password: hunter2}")))
	high := r.Variables(parse(t, "{ansible_ssh_common_args: -p 3 -C, ansible_port: , ansible_host: 192.0.2.1}"))
	require.NoError(t, r.Errs.Err())
	require.Equal(t, []string{"ansible_group_prority for ansible_group_priority", "ansible_pipelining is ignored"}, *told)

	layers := []Settings{low, high}
	p := Resolve("h", layers, nil)
	require.Equal(t, Params{
		Address: "192.0.2.1", Port: 3, User: "me", Jump: []JumpHost{{Host: "gate"}}, BecomePassword: "hunter2",
		Options: []Option{{"Compression", "yes", "f:1:27"}},
		Pos:     map[string]string{"address": "f:1:66", "port": "f:1:27", "user": "f:1:8", "jump": "f:1:18", "become_password": "f:1:41"},
	}, p)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", p, p, &p, p), "hunter2")

	jumps, at := Jump(layers)
	require.Equal(t, p.Jump, jumps)
	require.Equal(t, "f:1:18", at.Pos())
	jumps, at = Jump([]Settings{high})
	require.Nil(t, jumps)
	require.Nil(t, at)
	require.True(t, low.HasJump())
	require.False(t, high.HasJump())

	won := WonIn(p)
	var shown []string
	for _, s := range slices.Concat(low, high) {
		for _, e := range s.Entries() {
			shown = append(shown, fmt.Sprint(e.Key, " ", e.Name, " ", e.Value, " ", e.Secret, " ", won(e)))
		}
	}
	require.Equal(t, []string{
		"port ansible_port 1 false false", "user ansible_user low false false", "user user me false true", "jump jump gate false true",
		"become_password become_password <nil> true true", "port ansible_ssh_common_args -p 3 -C false true",
		"-o Compression ansible_ssh_common_args -p 3 -C false true", "port ansible_port <nil> false false", "address ansible_host 192.0.2.1 false true",
	}, shown)
}

// TestRefusals checks that a setting that cannot be applied is reported only if it counts.
func TestRefusals(t *testing.T) {
	r, _ := reading()
	low := r.Connect(parse(t, "{prt: 1, port: 0, become_password: [hunter2]}"))
	low.Add(r.Variables(parse(t, "{ansible_become_exe: /bin/x, ansible_ssh_args: -F, ansible_sftp_extra_args: '', ansible_user: '{{ me }}'}")))
	require.EqualError(t, r.Errs.Err(), `f:1:2: unknown key "prt" (did you mean "port"?)`)
	const become, port, password, args, user = "f:1:2: \"ansible_become_exe\" is not supported yet\n  hint: remove it", `f:1:16: "port" must be from 1 to 65535, not 0`,
		`f:1:36: "become_password" must be a single value`, "f:1:48: ansible_ssh_args: \"-F\" is not supported\n  hint: remove this option; supported options: -o, -J, -p, -i, -l, -C, -4, -6 and -q",
		"f:1:95: \"ansible_user\" cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"
	require.EqualError(t, low.Refused().Err(), strings.Join([]string{become, port, password, args, user}, "\n"))

	texts := func(p Params) map[string]string {
		found := map[string]string{}
		for key, errs := range p.Refused {
			found[key] = errs.Error()
		}
		return found
	}
	p := Resolve("h", []Settings{low}, nil)
	require.Equal(t, map[string]string{"ansible_become_exe": become, "port": port, "become_password": password, "ansible_ssh_args": args, "user": user}, texts(p))
	require.Equal(t, map[string]string{"port": "f:1:16", "become_password": "f:1:36", "user": "f:1:95"}, p.Pos)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", p, p, &p, p), "hunter2")

	high := r.Variables(parse(t, "{ansible_become_exe: , ansible_ssh_args: -p 3, ansible_become_pass: x}"))
	high.Add(r.Connect(parse(t, "{user: me}")))
	p = Resolve("h", []Settings{low, high}, nil)
	require.Empty(t, p.Refused)
	require.Equal(t, []any{3, "me", "x"}, []any{p.Port, p.User, p.BecomePassword})

	worse := r.Connect(parse(t, "{user: [a]}"))
	p = Resolve("h", []Settings{low, high, worse}, nil)
	require.Equal(t, map[string]string{"user": `f:1:8: "user" must be a single value, not a list`}, texts(p))
	require.Equal(t, []Entry{{Key: "user", Name: "user", Value: []any{"a"}, Pos: "f:1:8"}}, worse[0].Entries())
}

// accountForm is the form that isAccount accepts.
var accountForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$`)

// FuzzVariables checks that every value of a connection variable is refused or safe to pass on: words of a command line
// contain no blank and no control character.
func FuzzVariables(f *testing.F) {
	for _, key := range slices.Concat(keyVars, argsVars) {
		f.Add(key, "x")
		f.Add(key, "22")
	}
	f.Add("ansible_become_user", "a;b")
	f.Add("ansible_host", "fe80::1%eth0")
	f.Add("ansible_password", "{{ x }}")
	f.Fuzz(func(t *testing.T, key, value string) {
		r, _ := reading()
		at := &yamlpos.Node{File: "f"}
		list := r.Variables(yamlpos.From(at, map[string]any{"ansible_become_user": value, key: value}))
		p := Resolve("h", []Settings{list}, hostVariables{"x": yamlpos.TextFrom("f", "y")})
		require.Equal(t, accountForm.MatchString(p.BecomeUser), p.BecomeUser != "")
		for _, word := range []string{p.User, p.BecomeUser, p.Address} {
			require.NotRegexp(t, `[\s\x00-\x1f]|^-`, word)
		}
		require.True(t, p.Port >= 0 && p.Port <= 65535)
	})
}

func TestKeysAreDescribed(t *testing.T) {
	var names []string
	for _, p := range (schema.Rules{}).Properties(reflect.TypeFor[connectDoc]()) {
		require.NotEmpty(t, p.Schema.Description)
		names = append(names, p.Name)
	}
	require.Equal(t, keys, names)
}

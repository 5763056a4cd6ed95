package dial

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestJumpHostsAreVerifiedForEachHost has a login that one host was content with, and
// that another one must not use.
func TestJumpHostsAreVerifiedForEachHost(t *testing.T) {
	empty := func() []string { return []string{writeFile(t, "")} }
	for _, test := range []struct {
		name   string
		lax    func(*transport.Target)
		strict func(*transport.Target)
		err    error
	}{
		{"accept-new", func(t *transport.Target) { t.KnownHosts, t.HostKeys = empty(), transport.AcceptNew }, func(t *transport.Target) { t.KnownHosts = empty() }, transport.ErrHostKeyUnknown},
		{"strict, and accept-new with the same file", func(*transport.Target) {}, func(t *transport.Target) { t.HostKeys = transport.AcceptNew }, nil},
		{"known_hosts", func(*transport.Target) {}, func(t *transport.Target) { t.KnownHosts = nil }, transport.ErrHostKeyUnknown},
		{"global known_hosts", func(*transport.Target) {}, func(t *transport.Target) { t.KnownHosts, t.GlobalKnownHosts = nil, []string{"none"} }, transport.ErrHostKeyUnknown},
		{"alias", func(*transport.Target) {}, func(t *transport.Target) { t.HostKeyAlias = "gate" }, transport.ErrHostKeyUnknown},
		{"key", func(*transport.Target) {}, func(t *transport.Target) { t.PrivateKeys = nil }, transport.ErrAuth},
		{"methods", func(*transport.Target) {}, func(t *transport.Target) { t.Methods = []string{"password"} }, transport.ErrAuth},
		{"password", func(t *transport.Target) { t.Password = secret("a") }, func(t *transport.Target) { t.PrivateKeys, t.Password = nil, secret("b") }, transport.ErrAuth},
	} {
		t.Run(test.name, func(t *testing.T) {
			gate, srv := sshtest.Start(t), sshtest.Start(t)
			d := &Dialer{Home: t.TempDir()}
			defer d.Close()
			first, second := targetOf(gate), targetOf(gate)
			test.lax(&first)
			test.strict(&second)
			host := targetOf(srv)
			host.Jump = []transport.Target{first}
			c, err := d.Dial(t.Context(), host)
			require.NoError(t, err)
			defer c.Close()
			host.Jump = []transport.Target{second}
			if test.err == nil {
				require.NoError(t, dialOnce(t, d, host))
			} else {
				require.ErrorIs(t, dialOnce(t, d, host), test.err)
			}
			host.Jump = []transport.Target{first}
			require.NoError(t, dialOnce(t, d, host), "the failure is not that of the first way")
		})
	}
}

// TestInnerJumpHostsAreVerified dials through an outer and an inner jump host, first with the outer host known, then
// with it unknown.
func TestInnerJumpHostsAreVerified(t *testing.T) {
	outer, inner, srv := sshtest.Start(t), sshtest.Start(t), sshtest.Start(t)
	d := &Dialer{}
	defer d.Close()
	host, first := targetOf(srv), targetOf(outer)
	host.Jump = []transport.Target{first, targetOf(inner)}
	c, err := d.Dial(t.Context(), host)
	require.NoError(t, err)
	defer c.Close()
	first.KnownHosts = []string{writeFile(t, "")}
	host.Jump = []transport.Target{first, targetOf(inner)}
	require.ErrorIs(t, dialOnce(t, d, host), transport.ErrHostKeyUnknown)
}

// TestIdentity checks that each setting of a target counts, also a new setting, except settings that are known not to
// matter.
func TestIdentity(t *testing.T) {
	idle := []string{"Host", "Keepalive", "KeepaliveCount", "Retries", "Limits", "Jump"}
	for field := range reflect.TypeFor[transport.Target]().Fields() {
		changed := transport.Target{Address: "gate"}
		reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).Set(another(t, field.Type))
		require.Equal(t, slices.Contains(idle, field.Name), sameIdentity(transport.Target{Address: "gate"}, changed), field.Name)
	}
	for field := range reflect.TypeFor[transport.Algorithms]().Fields() {
		var changed transport.Target
		reflect.ValueOf(&changed.Algorithms).Elem().FieldByIndex(field.Index).Set(another(t, field.Type))
		require.False(t, sameIdentity(transport.Target{}, changed), field.Name)
	}
	require.True(t, sameIdentity(transport.Target{}, transport.Target{Port: 22}))
	require.True(t, sameIdentity(transport.Target{Password: secret("x")}, transport.Target{Password: secret("x")}))
	require.False(t, sameIdentity(transport.Target{Password: secret("x")}, transport.Target{Password: secret("y")}))
}

// another is a value that is not the zero one.
func another(t *testing.T, of reflect.Type) reflect.Value {
	switch of {
	case reflect.TypeFor[*transport.Secret]():
		return reflect.ValueOf(secret("x"))
	case reflect.TypeFor[transport.Limits]():
		return reflect.ValueOf(transport.Limits{Dial: time.Second})
	case reflect.TypeFor[transport.Algorithms]():
		return reflect.ValueOf(transport.Algorithms{Ciphers: []string{"x"}})
	}
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, 1, 1))
	default:
		t.Fatalf("say what another %s is", of)
	}
	return v
}

package reach

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

// withheldFields are fields of a target that no other machine gets or may set: commands, paths, secrets, and what decides
// whether a host key is believed.
var withheldFields = []string{
	"Local", "PrivateKeys", "PrivateKeysOptional", "Certificates", "IdentitiesOnly", "Agent", "Password", "KnownHosts", "GlobalKnownHosts",
	"RevokedHostKeys", "HostKeys", "HashKnownHosts", "BindAddress", "ProxyCommand",
}

// TestWireTargetFields fails when a target gets a field of which it is not decided whether workers get it.
func TestWireTargetFields(t *testing.T) {
	sent := reflect.TypeFor[WireTarget]()
	for i := range reflect.TypeFor[transport.Target]().NumField() {
		name := reflect.TypeFor[transport.Target]().Field(i).Name
		_, is := sent.FieldByName(name)
		require.NotEqual(t, is, slices.Contains(withheldFields, name), "%s: send it or withhold it", name)
	}
	for i := range sent.NumField() {
		_, is := reflect.TypeFor[transport.Target]().FieldByName(sent.Field(i).Name)
		require.True(t, is, sent.Field(i).Name)
	}
}

// TestWireTarget sends a target with all fields set: exactly the allowed fields arrive.
func TestWireTarget(t *testing.T) {
	full := transport.Target{
		Host: "web1", Address: "192.0.2.1", Port: 2222, User: "deploy", PrivateKeys: []string{"/k"}, PrivateKeysOptional: true, Certificates: []string{"/c"},
		IdentitiesOnly: true, Agent: "/agent", Password: transport.NewSecret([]byte("canary")), Methods: []string{"publickey"}, KnownHosts: []string{"/kh"},
		GlobalKnownHosts: []string{"/gkh"}, RevokedHostKeys: "/r", HostKeys: transport.AcceptNew, HostKeyAlias: "alias", KnownAt: "192.0.2.2:22",
		HashKnownHosts: true, Algorithms: transport.Algorithms{Ciphers: []string{"aes256-ctr"}}, AddressFamily: "inet", BindAddress: "192.0.2.9",
		Keepalive: time.Minute, KeepaliveCount: 4, Retries: 3, Limits: transport.Limits{Dial: time.Second},
		Jump: []transport.Target{{Host: "gate", Address: "192.0.2.3", User: "jump", PrivateKeys: []string{"/k"}}},
	}
	wire, err := NewWireTarget(full)
	require.NoError(t, err)
	text, err := json.Marshal(wire)
	require.NoError(t, err)
	require.NotContains(t, string(text), "/k")
	require.NotContains(t, string(text), "canary")
	var back WireTarget
	require.NoError(t, json.Unmarshal(text, &back))
	got, err := back.Target()
	require.NoError(t, err)
	require.Equal(t, transport.Target{
		Host: "web1", Address: "192.0.2.1", Port: 2222, User: "deploy", IdentitiesOnly: true, Agent: "none", Methods: []string{"publickey"},
		HostKeyAlias: "alias", KnownAt: "192.0.2.2:22", Algorithms: transport.Algorithms{Ciphers: []string{"aes256-ctr"}}, AddressFamily: "inet",
		Keepalive: time.Minute, KeepaliveCount: 4, Retries: 3, Limits: transport.Limits{Dial: time.Second},
		Jump: []transport.Target{{Host: "gate", Address: "192.0.2.3", User: "jump", IdentitiesOnly: true, Agent: "none"}},
	}, got)
}

// TestWireTargetRefuses has invalid settings that another machine could send.
func TestWireTargetRefuses(t *testing.T) {
	for name, change := range map[string]func(*WireTarget){
		"no host":           func(w *WireTarget) { w.Host = "" },
		"no user":           func(w *WireTarget) { w.User = "" },
		"an escape":         func(w *WireTarget) { w.Address = "\x1b[31m" },
		"a long name":       func(w *WireTarget) { w.HostKeyAlias = string(make([]byte, 2000)) },
		"port":              func(w *WireTarget) { w.Port = 70000 },
		"family":            func(w *WireTarget) { w.AddressFamily = "unix" },
		"known at":          func(w *WireTarget) { w.KnownAt = "x" },
		"busy keepalives":   func(w *WireTarget) { w.Keepalive = 1 },
		"negative limit":    func(w *WireTarget) { w.Limits.Auth = -1 },
		"endless handshake": func(w *WireTarget) { w.Limits.Handshake = 1 << 62 },
		"retries":           func(w *WireTarget) { w.Retries = 1 << 30 },
		"many jumps":        func(w *WireTarget) { w.Jump = make([]WireTarget, 17) },
		"a bad jump":        func(w *WireTarget) { w.Jump = []WireTarget{{Host: "x"}} },
	} {
		w := WireTarget{Host: "a", Address: "192.0.2.1", User: "u"}
		change(&w)
		_, err := w.Target()
		require.Error(t, err, name)
	}
}

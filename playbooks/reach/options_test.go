package reach

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

func TestEscalate(t *testing.T) {
	yes, no := true, false
	conn := inventory.Connection{Become: true, BecomeUser: "inv"}
	for _, c := range []struct {
		name    string
		connect Options
		play    Escalation
		conn    inventory.Connection
		want    *start.Become
	}{
		{"nobody wants it", Options{}, Escalation{}, inventory.Connection{}, nil},
		{"the inventory", Options{}, Escalation{}, conn, &start.Become{Method: "sudo", User: "inv"}},
		{"a play against the inventory", Options{}, Escalation{Become: &no}, conn, nil},
		{"a play", Options{}, Escalation{Become: &yes}, inventory.Connection{}, &start.Become{Method: "sudo", User: "root"}},
		{"a play's user", Options{}, Escalation{User: "play"}, conn, &start.Become{Method: "sudo", User: "play"}},
		{"the command line", Options{Become: true, BecomeUser: "cli"}, Escalation{Become: &no, User: "play"}, conn, &start.Become{Method: "sudo", User: "cli"}},
		{"a play's method", Options{}, Escalation{Method: "su"}, inventory.Connection{Become: true, BecomeMethod: "doas"}, &start.Become{Method: "su", User: "root"}},
		{"the command line's method", Options{BecomeMethod: "doas"}, Escalation{Method: "su"}, conn, &start.Become{Method: "doas", User: "inv"}},
		{"the inventory's password", Options{}, Escalation{}, inventory.Connection{Become: true, BecomePassword: "i"}, &start.Become{Method: "sudo", User: "root", Password: transport.NewSecret([]byte("i"))}},
		{"the command line's password", Options{BecomePassword: transport.NewSecret([]byte("c"))}, Escalation{}, inventory.Connection{Become: true, BecomePassword: "i"},
			&start.Become{Method: "sudo", User: "root", Password: transport.NewSecret([]byte("c"))}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.connect.Escalate(c.play, c.conn)) })
	}
}

func targetOf(o Options, inv *inventory.Inventory, name string) (transport.Target, error) {
	h := inv.Host(name)
	return o.Target(inv, h, h.Connection())
}

func TestTarget(t *testing.T) {
	inv := parseInventory(t, `
all:
  hosts:
    plain:
    web1: {connect: {address: 10.0.0.1, port: 2222, user: inv, private_key: ~/key, known_hosts: /kh}}
    far: {connect: {jump: "bastion,root@bastion:2200,me@10.0.0.9:2200,[::1]:23,::2"}}
    bastion: {connect: {address: 10.0.0.8, user: jumper}}
`)
	me := Options{LocalUser: "me"}
	for _, c := range []struct {
		name, host string
		connect    Options
		want       transport.Target
	}{
		{"defaults", "plain", me, transport.Target{Host: "plain", Address: "plain", User: "me"}},
		{"the inventory", "web1", me, transport.Target{Host: "web1", Address: "10.0.0.1", Port: 2222, User: "inv", PrivateKeys: []string{"~/key"}, KnownHosts: []string{"/kh"}}},
		{"the command line", "web1", Options{User: "cli", PrivateKeys: []string{"/k"}, KnownHosts: []string{"~/h"}, HostKeys: transport.AcceptNew, HostKeysGiven: true},
			transport.Target{Host: "web1", Address: "10.0.0.1", Port: 2222, User: "cli", PrivateKeys: []string{"/k"}, KnownHosts: []string{"~/h"}, HostKeys: transport.AcceptNew}},
		{"jump hosts", "far", me, transport.Target{Host: "far", Address: "far", User: "me", Jump: []transport.Target{
			{Host: "bastion", Address: "10.0.0.8", User: "jumper"},
			{Host: "bastion", Address: "10.0.0.8", Port: 2200, User: "root"},
			{Host: "10.0.0.9:2200", Address: "10.0.0.9", Port: 2200, User: "me"},
			{Host: "[::1]:23", Address: "::1", Port: 23, User: "me"},
			{Host: "::2", Address: "::2", User: "me"},
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := targetOf(c.connect, inv, c.host)
			require.NoError(t, err)
			require.Equal(t, c.want, target)
		})
	}
}

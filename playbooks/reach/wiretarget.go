package reach

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// A WireTarget describes for another machine how to reach a host. It has only settings that the network and the host
// need: no command, no path and no secret. So it cannot choose what that machine runs, reads or offers: keys,
// certificates, known_hosts and the rest are always the machine's own.
type WireTarget struct {
	Host           string               `json:"host"`
	Address        string               `json:"address"`
	Port           int                  `json:"port,omitempty"`
	User           string               `json:"user"`
	Methods        []string             `json:"methods,omitempty"`
	HostKeyAlias   string               `json:"host_key_alias,omitempty"`
	KnownAt        string               `json:"known_at,omitempty"`
	Algorithms     transport.Algorithms `json:"algorithms,omitzero"`
	AddressFamily  string               `json:"address_family,omitempty"`
	Keepalive      time.Duration        `json:"keepalive,omitempty"`
	KeepaliveCount int                  `json:"keepalive_count,omitempty"`
	Retries        int                  `json:"retries,omitempty"`
	Limits         transport.Limits     `json:"limits,omitzero"`
	Jump           []WireTarget         `json:"jump,omitempty"`
}

// NewWireTarget returns the parts of a target that another machine may have. The error explains why no other machine
// can reach the host.
func NewWireTarget(t transport.Target) (WireTarget, error) {
	switch {
	case t.Local:
		return WireTarget{}, fmt.Errorf("%s is the controller itself, which no worker reaches", t.Host)
	case t.ProxyCommand != "":
		return WireTarget{}, fmt.Errorf("the host %s is reached by a program of this machine (ProxyCommand), which workers do not have", t.Host)
	}
	w := WireTarget{
		Host: t.Host, Address: t.Address, Port: t.Port, User: t.User, Methods: t.Methods, HostKeyAlias: t.HostKeyAlias, KnownAt: t.KnownAt,
		Algorithms: t.Algorithms, AddressFamily: t.AddressFamily, Keepalive: t.Keepalive, KeepaliveCount: t.KeepaliveCount, Retries: t.Retries,
		Limits: t.Limits,
	}
	for _, jump := range t.Jump {
		one, err := NewWireTarget(jump)
		if err != nil {
			return w, err
		}
		w.Jump = append(w.Jump, one)
	}
	return w, nil
}

const (
	maxWireText  = 1024      // bytes of a name
	maxWireJumps = 16        // jump hosts
	maxWireTime  = time.Hour // limit of a phase of a login
	maxWireCount = 1000      // retries and keepalives
)

// Target returns the target, which uses no agent, no default key and no unknown host key. The error describes the fault
// of the received settings.
func (w WireTarget) Target() (transport.Target, error) {
	t := transport.Target{
		Host: w.Host, Address: w.Address, Port: w.Port, User: w.User, Methods: w.Methods, HostKeyAlias: w.HostKeyAlias, KnownAt: w.KnownAt,
		Algorithms: w.Algorithms, AddressFamily: w.AddressFamily, Keepalive: w.Keepalive, KeepaliveCount: w.KeepaliveCount, Retries: w.Retries,
		Limits: w.Limits, HostKeys: transport.Strict, Agent: "none", IdentitiesOnly: true,
	}
	if err := w.check(); err != nil {
		return transport.Target{}, fmt.Errorf("how %.100q is reached: %w", w.Host, err)
	}
	for _, jump := range w.Jump {
		if len(jump.Jump) > 0 {
			return transport.Target{}, fmt.Errorf("how %.100q is reached: a jump host has jump hosts of its own", w.Host)
		}
		one, err := jump.Target()
		if err != nil {
			return transport.Target{}, err
		}
		t.Jump = append(t.Jump, one)
	}
	return t, nil
}

func (w WireTarget) check() error {
	for _, text := range []string{w.Host, w.Address, w.User, w.HostKeyAlias, w.KnownAt} {
		if len(text) > maxWireText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%.100q is not a name", text)
		}
	}
	times := []time.Duration{w.Limits.Dial, w.Limits.Handshake, w.Limits.Auth, w.Limits.Sign, w.Keepalive}
	for _, limit := range times {
		if limit < 0 || limit > maxWireTime {
			return fmt.Errorf("%v is not a time limit", limit)
		}
	}
	_, _, knownErr := net.SplitHostPort(w.KnownAt)
	switch {
	case w.Host == "" || w.Address == "" || w.User == "":
		return errors.New("the name, the address or the user is missing")
	case w.Port < 0 || w.Port > 65535:
		return fmt.Errorf("%d is not a port", w.Port)
	case w.AddressFamily != "" && w.AddressFamily != "inet" && w.AddressFamily != "inet6":
		return fmt.Errorf("%.100q is not an address family", w.AddressFamily)
	case w.KnownAt != "" && knownErr != nil:
		return fmt.Errorf("%.100q is not an address with a port", w.KnownAt)
	case w.Keepalive > 0 && w.Keepalive < time.Second:
		return fmt.Errorf("a keepalive every %v is too often", w.Keepalive)
	case w.KeepaliveCount < 0 || w.KeepaliveCount > maxWireCount:
		return fmt.Errorf("%d is not a number of keepalives", w.KeepaliveCount)
	case w.Retries < -1 || w.Retries > maxWireCount:
		return fmt.Errorf("%d is not a number of retries", w.Retries)
	case len(w.Jump) > maxWireJumps:
		return fmt.Errorf("%d jump hosts are more than %d", len(w.Jump), maxWireJumps)
	}
	return nil
}

package broker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"
)

// The broker can be the filter of a separate nats-server (--server). Users with a role can then log in only at the broker:
// the configuration from [Broker.WriteConfig] requires a proxy with a trusted key for them.

// proxyKey reads the key that authenticates the filter to a nats-server. It makes a missing one.
func (b *Broker) proxyKey() (nkeys.KeyPair, error) {
	file := filepath.Join(b.Dir, "proxy.nk")
	seed, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		if seed, err = pair.Seed(); err != nil {
			return nil, err
		}
		return pair, errors.Join(writeWhole(file, seed), b.giveAway(file))
	}
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pair, nil
}

// reachServer connects the filter to the nats-server of --server.
func (b *Broker) reachServer(f *filter) (admit func([]User) error, err error) {
	host, _, err := net.SplitHostPort(b.Server)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("--server %s: the connection is not encrypted, so only a loopback address with a port is allowed, such as 127.0.0.1:4223", b.Server)
	}
	if f.proxy, err = b.proxyKey(); err != nil {
		return nil, err
	}
	f.dial = func() (net.Conn, error) { return (&net.Dialer{Timeout: loginTime}).Dial("tcp", b.Server) }
	if f.own, err = login("nats://"+b.Server, f.proxy); err != nil {
		return nil, fmt.Errorf("%w\n  hint: include the output of ccm-push-broker user config --dir %s in the configuration of nats-server, then reload nats-server", err, b.Dir)
	}
	return func([]User) error {
		b.Say("the users have changed: include the new output of ccm-push-broker user config --dir " + b.Dir + " in the configuration of nats-server, then reload nats-server")
		return nil
	}, nil
}

// WriteConfig writes the part of the configuration of a nats-server that lets the users in with the permissions of their roles.
func (b *Broker) WriteConfig(w io.Writer) error {
	if err := b.prepare(); err != nil {
		return err
	}
	users, err := b.Users()
	if err != nil {
		return err
	}
	proxy, err := b.proxyKey()
	if err != nil {
		return err
	}
	own, err := proxy.PublicKey()
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# for nats-server 2.12 or later, made by ccm-push-broker user config\nproxies { trusted = [ { key: %q } ] }\nauthorization {\n  users = [\n    { nkey: %[1]q } # ccm-push-broker --server\n", own)
	for _, u := range users {
		p := u.Role.permissions(u.Key)
		if p == nil {
			fmt.Fprintf(&text, "    { nkey: %q } # %s, %s\n", u.Key, u.Name, u.Role)
			continue
		}
		fmt.Fprintf(&text, "    { # %s, %s\n      nkey: %q, proxy_required: true\n      permissions {\n        publish { allow: [%s] }\n        subscribe { allow: [%s] }\n", u.Name, u.Role, u.Key, list(p.Publish.Allow), list(p.Subscribe.Allow))
		if p.Response != nil {
			fmt.Fprintf(&text, "        allow_responses { max: %d, expires: %q }\n", p.Response.MaxMsgs, p.Response.Expires)
		}
		text.WriteString("      }\n    }\n")
	}
	text.WriteString("  ]\n}\n")
	_, err = io.WriteString(w, text.String())
	return err
}

func list(subjects []string) string {
	var quoted []string
	for _, s := range subjects {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return strings.Join(quoted, ", ")
}

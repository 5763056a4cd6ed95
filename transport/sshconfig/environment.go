package sshconfig

import (
	"fmt"
	"net"
	"net/netip"
	"os/user"
	"path/filepath"
	"strings"
)

// An Environment holds the facts about the local machine that a configuration may use.
type Environment struct {
	LocalUser string // login name of the local user
	UID       int
	Home      string
	LocalHost string // the name of this machine
	// LookupEnv returns an environment variable; nil means that there are none.
	LookupEnv func(name string) (value string, found bool)
	// Exec runs a command of "Match exec" and reports whether it exited with 0; nil
	// allows none.
	Exec func(command string) (bool, error)
}

// tilde replaces ~ and ~user in front of a path.
func (e Environment) tilde(path string) (string, error) {
	rest, found := strings.CutPrefix(path, "~")
	if !found {
		return path, nil
	}
	name, rest, _ := strings.Cut(rest, "/")
	home := e.Home
	if name != "" {
		account, err := user.Lookup(name)
		if err != nil {
			return "", fmt.Errorf("%q: unknown user %q", path, name)
		}
		home = account.HomeDir
	}
	return filepath.Join(home, rest), nil
}

func (e Environment) lookup(name string) (string, bool) {
	if e.LookupEnv == nil {
		return "", false
	}
	return e.LookupEnv(name)
}

// addresses returns the addresses of this machine, without loopback ones.
func (c *Config) addresses() []netip.Addr {
	c.once.Do(func() {
		list, _ := net.InterfaceAddrs()
		for _, a := range list {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && !prefix.Addr().IsLoopback() {
				c.local = append(c.local, prefix.Addr().Unmap())
			}
		}
	})
	return c.local
}

// run runs each command once, since thousands of hosts may use it.
func (c *Config) run(command string) (bool, error) {
	c.running.Lock()
	defer c.running.Unlock()
	answer, known := c.ran[command]
	if !known {
		answer.ok, answer.err = c.env.Exec(command)
		if c.ran == nil {
			c.ran = map[string]execution{}
		}
		c.ran[command] = answer
	}
	return answer.ok, answer.err
}

type execution struct {
	ok  bool
	err error
}

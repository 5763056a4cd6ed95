package sshconfig

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// expand replaces tokens, variables and ~ in the collected settings.
func (c *Config) expand(original string, s *Settings) error {
	if alias := s.set[HostKeyAlias]; alias != nil {
		s.set[HostKeyAlias] = &Setting{HostKeyAlias, []string{lower(alias.Values[0])}, alias.Origins}
	}
	t := &tokens{
		env: c.env, host: s.host, original: original, login: s.login, port: s.port,
		alias: cmp.Or(s.Text(HostKeyAlias), original),
	}
	if len(s.hops) > 0 {
		t.jump = s.hops[len(s.hops)-1].Host
	}
	if name := s.set[HostName]; name != nil {
		s.set[HostName] = &Setting{HostName, []string{s.host}, name.Origins}
	}
	if strings.EqualFold(s.Text(RevokedHostKeys), "none") {
		s.set[RevokedHostKeys] = nil
	}
	for _, o := range []Option{IdentityFile, CertificateFile, UserKnownHostsFile, RevokedHostKeys} {
		if err := c.expandFiles(t, s, o); err != nil {
			return err
		}
	}
	if err := c.expandAgent(t, s); err != nil {
		return err
	}
	if err := c.expandCommand(t, s); err != nil {
		return err
	}
	return c.expandHops(t, s)
}

func (c *Config) expandFiles(t *tokens, s *Settings, o Option) error {
	set := s.set[o]
	if set == nil || !strings.ContainsAny(strings.Join(set.Values, ""), "%$~") {
		return nil
	}
	values := make([]string, len(set.Values))
	for i, v := range set.Values {
		// ~ comes first, so that no token can make one.
		path, err := c.env.tilde(v)
		if err != nil {
			return &Error{At: set.Origins[i], Msg: o.String() + ": " + err.Error()}
		}
		if values[i], err = t.expand(set.Origins[i], o.String(), path, commonTokens, true, false); err != nil {
			return err
		}
	}
	s.set[o] = &Setting{o, values, set.Origins}
	return nil
}

// expandAgent also follows the older form, the name of a variable after $.
func (c *Config) expandAgent(t *tokens, s *Settings) error {
	set := s.set[IdentityAgent]
	if set == nil {
		return nil
	}
	value := set.Values[0]
	name, isVariable := strings.CutPrefix(value, "$")
	switch {
	case strings.EqualFold(value, "none"):
		value = "none"
	case value == "SSH_AUTH_SOCK":
	case isVariable && !strings.HasPrefix(name, "{"):
		socket, found := c.env.lookup(name)
		if !found {
			return &Error{At: set.Origins[0], Msg: "IdentityAgent: " + value + " is not set"}
		}
		value = cmp.Or(socket, "none")
	default:
		return c.expandFiles(t, s, IdentityAgent)
	}
	s.set[IdentityAgent] = &Setting{IdentityAgent, []string{value}, set.Origins}
	return nil
}

// expandCommand expands ProxyCommand. The value "none" becomes no command.
func (c *Config) expandCommand(t *tokens, s *Settings) error {
	set := s.set[ProxyCommand]
	if set == nil {
		return nil
	}
	if strings.EqualFold(set.Values[0], "none") {
		s.set[ProxyCommand] = nil
		return nil
	}
	command, err := t.expand(set.Origins[0], "ProxyCommand", set.Values[0], proxyTokens, false, true)
	s.set[ProxyCommand] = &Setting{ProxyCommand, []string{command}, set.Origins}
	return err
}

// maxHost bounds the name of a jump host, in bytes (NI_MAXHOST): a name with %h grows with each hop.
const maxHost = 1025

// expandHops leaves no ProxyJump where the way is direct.
func (c *Config) expandHops(t *tokens, s *Settings) error {
	set := s.set[ProxyJump]
	if set == nil {
		return nil
	}
	if len(s.hops) == 0 { // none
		s.set[ProxyJump] = nil
		return nil
	}
	at := set.Origins[0]
	values := make([]string, len(s.hops))
	hops := make([]Hop, len(s.hops))
	for i, h := range s.hops {
		var err error
		if h.User, err = t.expand(at, "ProxyJump", h.User, proxyTokens, false, false); err != nil {
			return err
		}
		if h.Host, err = t.expand(at, "ProxyJump", h.Host, proxyTokens, false, false); err != nil {
			return err
		}
		if len(h.Host) > maxHost {
			return &Error{At: at, Msg: fmt.Sprintf("ProxyJump: a host name has %d bytes, more than %d", len(h.Host), maxHost)}
		}
		hops[i], values[i] = h, h.String()
	}
	if last := hops[len(hops)-1]; strings.EqualFold(last.Host, s.host) && cmp.Or(decimal(last.Port), "22") == s.port {
		return &Error{
			At: at, Msg: fmt.Sprintf("the jump hosts form a loop: %s -> %s", s.host, last.Host),
			Hint: "it has to be reached directly: ProxyJump none for " + last.Host,
		}
	}
	s.set[ProxyJump], s.hops = &Setting{ProxyJump, values, set.Origins}, hops
	return nil
}

func decimal(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

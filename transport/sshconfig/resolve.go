package sshconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Resolve returns the settings of a host. The errors are [Error], several of them joined.
func (c *Config) Resolve(q Query) (*Settings, error) {
	s, err := c.collect(q)
	if err != nil {
		return nil, err
	}
	return s, c.expand(q.Host, s)
}

// A pass reads the files once. A "Match final" or CanonicalizeHostname causes a second pass, which compares Host lines
// with the HostName.
type pass struct {
	config         *Config
	set            *Settings
	host, original string
	final          bool
	wantFinal      bool
	counts         map[*block]bool // whether each block with an Include counts
}

// collect gathers the values without replacing tokens.
func (c *Config) collect(q Query) (*Settings, error) {
	s := &Settings{}
	if q.User != "" {
		s.put(User, []string{q.User}, "")
	}
	if q.Port != 0 {
		s.put(Port, []string{strconv.Itoa(q.Port)}, "")
	}
	p := &pass{config: c, set: s, host: q.Host, original: q.Host}
	for _, g := range q.Given {
		d, err := c.parseGiven(g)
		if err == nil {
			err = p.apply(d)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.walk(); err != nil {
		return nil, err
	}
	host, err := p.address()
	if err != nil {
		return nil, err
	}
	if canonicalize := s.Text(CanonicalizeHostname); p.wantFinal || canonicalize != "" && canonicalize != "no" {
		last := &pass{config: c, set: s, host: host, original: q.Host, final: true}
		name := s.set[HostName]
		s.set[HostName] = &Setting{HostName, []string{strings.ReplaceAll(host, "%", "%%")}, []string{s.Origin(HostName)}}
		if err := last.walk(); err != nil {
			return nil, err
		}
		s.set[HostName] = name
	}
	s.host = host
	s.login = cmp.Or(s.Text(User), c.env.LocalUser)
	s.port = cmp.Or(s.Text(Port), "22")
	return s, nil
}

// walk applies the lines that count.
func (p *pass) walk() error {
	active := false
	var unknown []error
	for _, i := range p.config.segmentsFor(p.host) {
		seg := &p.config.segments[i]
		b := seg.block
		if seg.begins {
			var err error
			if active, err = p.enter(b); err != nil {
				return err
			}
		} else if b.includes {
			active = p.counts[b]
		}
		for j := range seg.lines {
			d := &seg.lines[j]
			if d.keyword == nil {
				if err := p.unknown(d); err != nil && len(unknown) < maxErrors {
					unknown = append(unknown, err)
				}
			} else if active {
				if err := p.apply(d); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(unknown...)
}

// enter reports whether a block counts. A Match final anywhere requests another pass.
func (p *pass) enter(b *block) (bool, error) {
	counts := b.parent == nil || p.counts[b.parent]
	if b.condition != nil {
		p.wantFinal = p.wantFinal || b.condition.wantsFinal()
		if counts {
			var err error
			if counts, err = p.holds(b.condition); err != nil {
				return false, err
			}
		}
	}
	if b.includes {
		if p.counts == nil {
			p.counts = map[*block]bool{}
		}
		p.counts[b] = counts
	}
	return counts, nil
}

func (p *pass) unknown(d *directive) error {
	if matchHost(d.name, p.set.Text(ignoreUnknown)) {
		return nil
	}
	return &Error{At: d.at, Msg: fmt.Sprintf("unknown option %q", d.name), Hint: "to ignore this option, write above it: IgnoreUnknown " + d.name}
}

// parseGiven reads an option that is not from a file, once.
func (c *Config) parseGiven(g Given) (*directive, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if d := c.given[g]; d != nil {
		return d, nil
	}
	d := &directive{name: lower(g.Name), keyword: keywords[lower(g.Name)], at: g.At}
	fail := func(format string, args ...any) error {
		return &Error{At: g.At, Msg: g.Name + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case d.keyword == nil:
		return nil, &Error{At: g.At, Msg: fmt.Sprintf("unknown option %q", g.Name)}
	case d.keyword.kind == host || d.keyword.kind == match || d.keyword.kind == include:
		return nil, fail("it is allowed only in a file")
	case d.keyword.kind == command:
		return nil, fail("a command counts in the user's own ssh_config only")
	}
	if err := d.parse(g.Value); err != nil {
		return nil, fail("%v", err)
	}
	if c.given == nil {
		c.given = map[Given]*directive{}
	}
	c.given[g] = d
	return d, nil
}

// put sets an option unless it is set.
func (s *Settings) put(o Option, values []string, at string) {
	if s.set[o] == nil && len(values) > 0 {
		s.set[o] = &Setting{Option: o, Values: values, Origins: slices.Repeat([]string{at}, len(values))}
	}
}

// apply takes the setting of a line, unless an earlier line has set it.
func (p *pass) apply(d *directive) error {
	s, o := p.set, d.keyword.option
	switch d.keyword.kind {
	case ignored:
		p.ignore(d)
	case seconds:
		if d.values[0] != "none" { // which ssh treats as if it was not there
			s.put(o, d.values, d.at)
		}
	case file:
		return s.addFile(o, d)
	case jump:
		if s.set[ProxyCommand] == nil && s.set[ProxyJump] == nil {
			s.put(o, d.values, d.at)
			s.hops = d.hops
		}
	case command:
		switch {
		case len(s.hops) > 0: // "ProxyJump none" does not prevent it
		case !d.user && !strings.EqualFold(d.values[0], "none"):
			if s.set[ProxyCommand] == nil {
				s.warn("%s: ProxyCommand has no effect: only the user's own ssh_config may give one", d.at)
			}
		default:
			s.put(o, d.values, d.at)
		}
	default:
		s.put(o, d.values, d.at)
	}
	return nil
}

func (p *pass) ignore(d *directive) {
	if d.keyword.warn == never || d.keyword.warn == ofUsers && !d.user || len(d.values) == 0 {
		return
	}
	switch lower(d.values[0]) {
	case "no", "none", "false", "internal":
		return
	}
	p.set.warn("%s: %s has no effect here", d.at, d.name)
}

// addFile adds a file to a list, if it is not in it.
func (s *Settings) addFile(o Option, d *directive) error {
	if s.set[o] == nil {
		s.put(o, d.values, d.at)
		return nil
	}
	list := s.set[o]
	switch {
	case slices.Contains(list.Values, d.values[0]):
	case len(list.Values) >= maxIdentities:
		return &Error{At: d.at, Msg: fmt.Sprintf("%s: more than %d files", o, maxIdentities)}
	default:
		s.set[o] = &Setting{o, append(slices.Clip(list.Values), d.values[0]), append(slices.Clip(list.Origins), d.at)}
	}
	return nil
}

// target is the host as a Match line in the midst of the files sees it.
func (p *pass) target() (string, error) {
	name := p.set.set[HostName]
	if name == nil {
		return p.host, nil
	}
	t := tokens{host: p.host}
	return t.expand(name.Origins[0], "HostName", name.Values[0], hostTokens, false, false)
}

// address is the host at the end of a pass: a name in lower case, or an address in
// its shortest form.
func (p *pass) address() (string, error) {
	host, err := p.target()
	if addr, notAddr := netip.ParseAddr(host); notAddr == nil {
		return addr.String(), err
	}
	return lower(host), err
}

func (p *pass) login() string { return cmp.Or(p.set.Text(User), p.config.env.LocalUser) }

// tokens returns the tokens that are allowed in a command of Match.
func (p *pass) tokens(host string) *tokens {
	return &tokens{
		env: p.config.env, host: host, original: p.original, login: p.login(), port: cmp.Or(p.set.Text(Port), "22"),
		alias: cmp.Or(p.set.Text(HostKeyAlias), p.original), jump: p.jumpHost(),
	}
}

// jumpHost is the innermost jump host, for %j.
func (p *pass) jumpHost() string {
	if n := len(p.set.hops); n > 0 {
		return p.set.hops[n-1].Host
	}
	return ""
}

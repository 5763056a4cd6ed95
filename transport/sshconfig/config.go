package sshconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
)

// A Config is configuration that has been read. Its methods may be called from many
// goroutines.
type Config struct {
	env      Environment
	segments []segment
	// Most large files are lists of Host lines with one name each: named has the
	// segments that count for a name alone, and others all that do not.
	named    map[string][]int
	others   []int
	warnings []string

	once  sync.Once
	local []netip.Addr

	running sync.Mutex
	ran     map[string]execution

	reading sync.Mutex
	given   map[Given]*directive
}

// Warnings are about the files as such.
func (c *Config) Warnings() []string { return c.warnings }

func (c *Config) index() {
	c.named = map[string][]int{}
	for i, s := range c.segments {
		names, ok := []string(nil), false
		if s.block.condition != nil && !s.unknown {
			names, ok = s.block.condition.literals()
		}
		if !ok {
			c.others = append(c.others, i)
			continue
		}
		for _, name := range names {
			if list := c.named[name]; len(list) == 0 || list[len(list)-1] != i {
				c.named[name] = append(list, i)
			}
		}
	}
}

// segmentsFor lists the segments that may count for a host, in the order of the files.
func (c *Config) segmentsFor(host string) []int {
	named := c.named[host]
	if len(named) == 0 {
		return c.others
	}
	all := slices.Concat(c.others, named)
	slices.Sort(all)
	return all
}

// A Query is a request for the settings of one host.
type Query struct {
	Host string // as ssh would be given it: what Host lines are compared with
	User string // the login name if it is settled; "" leaves it to the configuration
	Port int    // likewise; 0 leaves it
	// Given are options as after -o, which count more than all files.
	Given []Given
}

// A Given is an option that is not from a file.
type Given struct {
	Name, Value string
	At          string // where it is from
}

// Settings are the settings of one host.
type Settings struct {
	host     string
	login    string
	port     string
	set      [options]*Setting
	hops     []Hop
	warnings []string
}

// A Setting is one option with its values.
type Setting struct {
	Option Option
	// Values has one value for most options, several for options that name files, and the hops for ProxyJump. Tokens
	// and ~ are replaced. Flags are yes or no, times are decimal seconds.
	Values []string
	// Origins are the places of the values, one each: file:line, or the place of a [Given]. The origin of the query's
	// own values is empty.
	Origins []string
}

// Host returns the name or address to dial: HostName, or the queried name.
func (s *Settings) Host() string { return s.host }

// Setting returns an option, or nil if it is not set.
func (s *Settings) Setting(o Option) *Setting { return s.set[o] }

// Values returns the values of an option, or nil if it is not set. The caller must not change them.
func (s *Settings) Values(o Option) []string {
	if s.set[o] == nil {
		return nil
	}
	return s.set[o].Values
}

// Text is the first value of an option, "" if nothing sets it.
func (s *Settings) Text(o Option) string {
	if v := s.Values(o); len(v) > 0 {
		return v[0]
	}
	return ""
}

// Origin returns the place of the first value of an option.
func (s *Settings) Origin(o Option) string {
	if s.set[o] == nil {
		return ""
	}
	return s.set[o].Origins[0]
}

// Hops returns the hops of ProxyJump, outermost first.
func (s *Settings) Hops() []Hop { return s.hops }

// Warnings lists ignored settings: lines that would matter but have no effect here, and commands that were not run.
func (s *Settings) Warnings() []string { return s.warnings }

func (s *Settings) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

package connection

import (
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Setting is one key that sets a part of the connection.
type Setting struct {
	name   string // as written
	rank   rank
	at     *yamlpos.Node
	fields []field
	// refused has the reasons why the setting cannot be applied; fields is empty then.
	refused yamlpos.Errors
	secret  *yamlpos.Node // a password as it is written; nil for any other setting
}

// refuse records why the setting cannot be applied, unless err is nil.
func (s *Setting) refuse(err error) {
	if err == nil {
		return
	}
	s.fields = nil
	if p, ok := errors.AsType[*problem](err); ok {
		err = positioned(s.at, p)
	}
	s.refused.Add(err)
}

// A rank orders the settings of one layer; the last one wins.
type rank int

const (
	sshArgs     rank = iota // ansible_ssh_common_args and the like
	ansibleVar              // ansible_port and the like
	connectMaps             // keys of connect:
)

// A field is a value for one field of Params.
type field struct {
	key string // in a connect map; "" of options
	set func(*Params)
	// option is added to Params.Options instead of setting a field; its Pos is not set.
	option Option
}

// Settings are the settings of one layer of variables: a group, a host, or a file. The map connect overrides Ansible's
// variables, and these override arguments of ssh.
type Settings []Setting

// Add keeps the settings sorted by rank.
func (s *Settings) Add(more Settings) {
	*s = append(*s, more...)
	slices.SortStableFunc(*s, func(a, b Setting) int { return int(a.rank) - int(b.rank) })
}

// Resolve merges the settings of layers, lowest first. host is the name of the host, which is its address unless a
// layer sets another. v provides the variables that passwords refer to.
func Resolve(host string, layers []Settings, v Variables) Params {
	p := Params{Address: host, Pos: map[string]string{}}
	counting := overlaid(layers)
	for _, s := range counting {
		refers := s.refers()
		if refers {
			s = s.followed(counting, v)
		}
		p.refuse(s)
		for _, f := range s.fields {
			if f.key == "" {
				f.option.Pos = s.at.Pos()
				p.addOption(f.option)
				continue
			}
			f.set(&p)
			p.Pos[f.key] = s.at.Pos()
			delete(p.Refused, f.key)
			delete(p.Referred, f.key)
		}
		if refers {
			p.refer(s)
		}
	}
	return p
}

// Refused returns the reasons why settings cannot be applied, whether or not they count for a host.
func (s Settings) Refused() (errs yamlpos.Errors) {
	for _, one := range s {
		errs = append(errs, one.refused...)
	}
	return errs
}

// Passwords returns the passwords in clear text, whether or not they count for a host.
func (s Settings) Passwords() (texts []string) {
	for _, one := range s {
		if one.secret != nil && len(one.refused) == 0 && one.secret.Sealed == nil && !one.refers() {
			texts = append(texts, one.secret.Text)
		}
	}
	return texts
}

// overlaid lists the settings that apply, lowest first. A setting replaces the one of
// the same name in a lower layer whole, as variables do.
func overlaid(layers []Settings) Settings {
	var list Settings
	for _, layer := range layers {
		for _, s := range layer {
			list = slices.DeleteFunc(list, func(lower Setting) bool { return lower.name == s.name })
			list = append(list, s)
		}
	}
	return list
}

// Jump returns [Params.Jump] alone, and the node where it is written; at is nil if it is not set.
func Jump(layers []Settings) (jumps []JumpHost, at *yamlpos.Node) {
	p, at := alone(layers, jumpKey)
	return p.Jump, at
}

// Relay returns [Params.Relay] alone, and the node where it is written; at is nil if it is not set.
func Relay(layers []Settings) (name string, at *yamlpos.Node) {
	p, at := alone(layers, relayKey)
	return p.Relay, at
}

// alone returns the parameters with one key of a connect map, and the node where it is written.
func alone(layers []Settings, key string) (p Params, at *yamlpos.Node) {
	for _, s := range overlaid(layers) {
		for _, f := range s.fields {
			if f.key == key {
				f.set(&p)
				at = s.at
			}
		}
	}
	return p, at
}

// HasRelay reports whether a relay is among the settings, as cheaply as HasJump.
func (s Settings) HasRelay() bool { return s.has(relayKey) }

// HasJump reports whether a jump host is among the settings: a cheap answer for the
// many hosts that are reached directly.
func (s Settings) HasJump() bool { return s.has(jumpKey) }

func (s Settings) has(key string) bool {
	return slices.ContainsFunc(s, func(one Setting) bool {
		return slices.ContainsFunc(one.fields, func(f field) bool { return f.key == key })
	})
}

// An Entry is the value of one key in one place, in the form that users see.
type Entry struct {
	Key  string // in a connect map, or "-o " and the name of an option of ssh
	Name string // as it is written: ansible_port, port
	// Value is the value as written; for arguments of ssh, all of them. It is nil for a password, and if the place
	// removes lower settings.
	Value  any
	Secret bool   // a password
	Pos    string // file:line:column
}

// Entries returns an entry for each key that s sets. A setting that removes a value, is empty or cannot be applied has
// an entry for its own key only.
func (s Setting) Entries() []Entry {
	var list []Entry
	for _, f := range s.fields {
		e := Entry{Key: f.name(), Name: s.name, Secret: IsSecretKey(f.key), Pos: s.at.Pos()}
		if !e.Secret {
			e.Value = s.at.Any()
		}
		list = append(list, e)
	}
	if key := s.key(); len(list) == 0 && key != "" {
		list = []Entry{{Key: key, Name: s.name, Secret: IsSecretKey(key), Pos: s.at.Pos()}}
		if len(s.refused) > 0 && !list[0].Secret {
			list[0].Value = s.at.Any()
		}
	}
	return list
}

// key returns the key of a setting without fields; "" if it has none.
func (s Setting) key() string {
	switch s.rank {
	case ansibleVar:
		return keyOf(s.name)
	case connectMaps:
		return s.name
	}
	return ""
}

func (f field) name() string {
	if f.key == "" {
		return optionName(f.option.Name)
	}
	return f.key
}

// optionName returns the key of an [Entry] that is an option of ssh.
func optionName(name string) string { return "-o " + name }

// WonIn reports whether p has its value from an entry.
func WonIn(p Params) func(Entry) bool {
	type place struct{ key, at string }
	winning := make(map[place]bool, len(p.Pos)+len(p.Options))
	for key, at := range p.Pos {
		winning[place{key, at}] = true
	}
	for _, o := range p.Options {
		winning[place{optionName(o.Name), o.Pos}] = true
	}
	return func(e Entry) bool { return winning[place{e.Key, e.Pos}] }
}

package connection

import (
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Setting is one key that says something about the connection.
type Setting struct {
	name   string // as written
	rank   rank
	at     *yamlpos.Node
	fields []field
	// refused is why it cannot be honoured; it then has no fields.
	refused yamlpos.Errors
}

// refuse notes why the setting cannot be honoured, unless err is nil.
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
	connectMaps             // what stands below connect:
)

// A field is a value for one field of Params.
type field struct {
	key string // in a connect map; "" of options
	set func(*Params)
	// option is what goes to Params.Options instead; its Pos is not set.
	option Option
}

// Settings are what one layer of variables says: a group, a host, or a file. The
// map connect wins over Ansible's variables, and these over arguments of ssh.
type Settings []Setting

// Add keeps the settings sorted by rank.
func (s *Settings) Add(more Settings) {
	*s = append(*s, more...)
	slices.SortStableFunc(*s, func(a, b Setting) int { return int(a.rank) - int(b.rank) })
}

// Resolve gives what the settings of layers, low to high, come to for a host of a
// name.
func Resolve(host string, layers []Settings) Params {
	p := Params{Address: host, Pos: map[string]string{}}
	for _, s := range overlaid(layers) {
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
		}
	}
	return p
}

// Refused are why settings cannot be honoured, wherever they count.
func (s Settings) Refused() (errs yamlpos.Errors) {
	for _, one := range s {
		errs = append(errs, one.refused...)
	}
	return errs
}

// overlaid lists what applies, lowest first. A setting of the same name replaces
// the one of a lower layer whole, as variables do.
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

// Jump gives [Params.Jump] alone, and where it is written: nil if nowhere.
func Jump(layers []Settings) (hops []Hop, at *yamlpos.Node) {
	var p Params
	for _, s := range overlaid(layers) {
		for _, f := range s.fields {
			if f.key == jumpKey {
				f.set(&p)
				at = s.at
			}
		}
	}
	return p.Jump, at
}

// HasJump reports whether a jump host is among the settings: a cheap answer for the
// many hosts that are reached directly.
func (s Settings) HasJump() bool {
	return slices.ContainsFunc(s, func(one Setting) bool {
		return slices.ContainsFunc(one.fields, func(f field) bool { return f.key == jumpKey })
	})
}

package pkg

import "github.com/ccm-push/ccm-push/modules"

// Effect is the kind of effect that a package has: Key is its name, State a
// [State].
const Effect modules.EffectKind = "package"

// A State is what a host has of a package. The zero State is that of one that is
// absent.
type State struct {
	Installed  bool
	Version    string // "" if it is absent, or not known beforehand
	Unfinished string // what dpkg calls a package that is there in part: half-configured
	Held       bool   // it shall not be changed
}

// there reports whether there is something of the package, be it in part.
func (s State) there() bool { return s.Installed || s.Unfinished != "" }

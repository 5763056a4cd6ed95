package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// FactsKey is where a host of Hosts has its facts.
const FactsKey = "facts"

// An Inventory is what the inventory and the run say. All hosts of a play share it, but for
// Host and Results. nil is a root that does not exist. What it holds is from files and the command
// line: no host has a say in it, but for the facts of Hosts and for Results.
type Inventory struct {
	Host   *Lazy // the host that is rendered for: name, groups, vars
	Groups *Lazy // names of groups → names of hosts
	Hosts  *Lazy // names of hosts → variables, and facts where the run has asked for them
	Play   *Lazy // name, hosts
	Run    *Lazy // id, check, user
	// Results is what came of the resources of the host that register their results, by the
	// names under which they do. The host has its say in all of it, as in facts.
	Results *Lazy
	// NATS gives what functions ask NATS for; nil where none is given.
	NATS NATS
}

// root gives what is called so in expressions; nil if it is not known, also for a nil
// Inventory.
func (in *Inventory) root(name string) *Lazy {
	if in == nil {
		return nil
	}
	switch name {
	case HostRoot:
		return in.Host
	case GroupsRoot:
		return in.Groups
	case HostsRoot:
		return in.Hosts
	case PlayRoot:
		return in.Play
	case RunRoot:
		return in.Run
	case ResultsRoot:
		return in.Results
	}
	return nil
}

// inventoryRoots are the roots of an [Inventory].
func inventoryRoots() []string {
	return []string{HostRoot, GroupsRoot, HostsRoot, PlayRoot, RunRoot, ResultsRoot}
}

// sharedRoots are those that all hosts of a play see alike.
func sharedRoots() []string { return []string{GroupsRoot, HostsRoot, PlayRoot, RunRoot} }

// IsInventoryRoot reports whether name is that of a root of an [Inventory]. Such a root is
// built only where an expression or template names it.
func IsInventoryRoot(name string) bool { return slices.Contains(inventoryRoots(), name) }

// A Lazy is a map of plain values that is built when an expression first asks for it, and
// once. It is safe for concurrent use.
type Lazy struct {
	number uint64 // no other one has it
	value  func() map[string]any
	json   func() ([]byte, error)
}

var lazies atomic.Uint64

// NewLazy gives a map that build makes.
func NewLazy(build func() map[string]any) *Lazy {
	l := &Lazy{number: lazies.Add(1), value: sync.OnceValue(build)}
	l.json = sync.OnceValues(func() ([]byte, error) { return jsonOf(l.value()) })
	return l
}

// Value is the map. It is shared, and not to be changed.
func (l *Lazy) Value() map[string]any { return l.value() }

// A Refused stands in the place of a value that cannot be used: to read it is the error.
type Refused struct{ Fault *diag.Fault }

// MarshalJSON is the error.
func (r Refused) MarshalJSON() ([]byte, error) { return nil, r.Fault }

// A Sealed stands in the place of a text that is opened when it is read.
type Sealed struct{ Open func() (string, error) }

// MarshalJSON is that of the text.
func (s Sealed) MarshalJSON() ([]byte, error) {
	text, err := s.Open()
	if err != nil {
		return nil, err
	}
	return jsonOf(text)
}

// used is v, the error of a [Refused], or the text of a [Sealed].
func used(v any) (any, error) {
	switch v := v.(type) {
	case Refused:
		return nil, v.Fault
	case Sealed:
		return v.Open()
	}
	return v, nil
}

// jsonOf is the JSON that gjson paths are applied to.
func jsonOf(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// FactsKey is the key of the facts in a host of Hosts.
const FactsKey = "facts"

// An Inventory has values from the inventory and the run. All hosts of a play share it, except Host and Results. nil is
// a root that does not exist. Its values come from files and the command line: no host influences them, except the
// facts in Hosts, and Results.
type Inventory struct {
	Host   *Lazy // the host that is rendered for: name, groups, vars
	Groups *Lazy // names of groups → names of hosts
	Hosts  *Lazy // names of hosts → variables, and facts if the run has requested them
	Play   *Lazy // name, hosts
	Run    *Lazy // id, check, user
	// Results has the results of the host's resources that register them, by their registered names. The host
	// influences all of it, like facts.
	Results *Lazy
	// NATS answers functions that query NATS; nil without a server.
	NATS NATS
}

// root returns the root with this name in expressions; nil if it is not known, also for a nil Inventory.
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

// inventoryRoots returns the roots of an [Inventory].
func inventoryRoots() []string {
	return []string{HostRoot, GroupsRoot, HostsRoot, PlayRoot, RunRoot, ResultsRoot}
}

// sharedRoots returns the roots that are the same for all hosts of a play.
func sharedRoots() []string { return []string{GroupsRoot, HostsRoot, PlayRoot, RunRoot} }

// IsInventoryRoot reports whether name is the name of a root of an [Inventory]. Such a root is built only if an
// expression or template names it.
func IsInventoryRoot(name string) bool { return slices.Contains(inventoryRoots(), name) }

// A Lazy is a map of plain values that is built when an expression first reads it, and once. It is safe for concurrent
// use.
type Lazy struct {
	number uint64 // unique
	value  func() map[string]any
	json   func() ([]byte, error)
}

var lazies atomic.Uint64

// NewLazy returns a map that build makes.
func NewLazy(build func() map[string]any) *Lazy {
	l := &Lazy{number: lazies.Add(1), value: sync.OnceValue(build)}
	l.json = sync.OnceValues(func() ([]byte, error) { return jsonOf(l.value()) })
	return l
}

// Value returns the map. It is shared and must not be changed.
func (l *Lazy) Value() map[string]any { return l.value() }

// A Refused replaces a value that cannot be used: reading it returns the error.
type Refused struct{ Fault *diag.Fault }

// MarshalJSON returns the error.
func (r Refused) MarshalJSON() ([]byte, error) { return nil, r.Fault }

// A Sealed is a text that is opened when it is read.
type Sealed struct{ Open func() (string, error) }

// MarshalJSON returns the JSON of the opened text.
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

// jsonOf returns the JSON that gjson paths are applied to.
func jsonOf(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

package catalog

import (
	"maps"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A memo remembers the resolved properties of resources, so that hosts with equal inputs are compiled once. The syntax
// trees show which inputs matter; see [templates.Inputs].
type memo struct {
	mu     sync.Mutex
	inputs map[*manifest.Resource]*readSet
	// When young is full it becomes old; entries of old that were not used meanwhile are dropped.
	young, old map[memoKey]*prepared
	size       int64 // size of young, in bytes
}

// A readSet has the inputs of a resource's properties, and whether several hosts had the same values of them.
type readSet struct {
	inputs templates.Inputs
	made   int // how often they were made
	again  int // how often that was not needed
}

// isOwn reports whether nearly every host has properties of its own: to remember
// them would cost memory and time for nothing.
func (r *readSet) isOwn() bool {
	const trial = 256 // before that, it is not known
	return r.made >= trial && r.again < r.made/8
}

// maxMemo bounds each half of a memo, in bytes.
const maxMemo = 16 << 20

type memoKey struct {
	resource *manifest.Resource
	name     string // rendered
	inputs   string
}

// key returns the memo key of a resource's properties in env. ok is false if they are not remembered.
func (m *memo) key(r *manifest.Resource, name string, env *templates.Env) (key memoKey, ok bool) {
	m.mu.Lock()
	reads := m.inputs[r]
	own := reads != nil && reads.isOwn()
	m.mu.Unlock()
	if own {
		return key, false
	}
	if reads == nil {
		reads = &readSet{inputs: r.Properties.Inputs(env.Files)}
		m.mu.Lock()
		if m.inputs == nil {
			m.inputs = map[*manifest.Resource]*readSet{}
		}
		if m.inputs[r] == nil { // else another host was faster
			m.inputs[r] = reads
		}
		m.mu.Unlock()
	}
	key = memoKey{resource: r, name: name}
	key.inputs, ok = reads.inputs.Key(env)
	return key, ok
}

func (m *memo) recall(key memoKey) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.young[key]
	if found == nil {
		if found = m.old[key]; found == nil {
			return nil
		}
		m.put(key, found)
	}
	m.inputs[key.resource].again++
	return found
}

func (m *memo) remember(key memoKey, what *prepared) {
	if what.unfit {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	reads := m.inputs[key.resource]
	if reads.made++; reads.isOwn() {
		m.forget(key.resource)
		return
	}
	m.put(key, what)
}

// forget drops the remembered properties of a resource.
func (m *memo) forget(r *manifest.Resource) {
	of := func(key memoKey, _ *prepared) bool { return key.resource == r }
	maps.DeleteFunc(m.young, of)
	maps.DeleteFunc(m.old, of)
}

func (m *memo) put(key memoKey, what *prepared) {
	const overhead = 500 // bytes, of keys and maps
	size := int64(overhead+len(what.properties)) + what.size
	if m.size += size; m.young == nil || m.size > maxMemo {
		m.young, m.old, m.size = map[memoKey]*prepared{}, m.young, size
	}
	m.young[key] = what
}

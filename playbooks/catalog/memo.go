package catalog

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A memo remembers what the properties of resources came to, so that hosts with
// equal inputs are compiled once. Which inputs those are is known from the syntax
// trees; see [templates.Inputs].
type memo struct {
	mu     sync.Mutex
	inputs map[*manifest.Resource]templates.Inputs
	// What was not asked for while young filled up is forgotten with old.
	young, old map[memoKey]*made
	size       int64 // of young, in bytes
}

// maxMemo bounds each half of a memo, in bytes.
const maxMemo = 16 << 20

type memoKey struct {
	resource *manifest.Resource
	name     string // rendered
	inputs   string
}

// A made is what the properties of a resource came to.
type made struct {
	properties json.RawMessage
	texts      map[string][]byte
	files      map[string]sourceFile
	downloads  map[string]*fetched
	size       int64 // of the texts, in bytes
	needsFull  bool
	unfit      bool // there is more to it than this
}

// key gives the name of what the properties come to in env. ok is false where
// that is not remembered.
func (m *memo) key(r *manifest.Resource, name string, env *templates.Env) (key memoKey, ok bool) {
	m.mu.Lock()
	inputs, known := m.inputs[r]
	m.mu.Unlock()
	if !known {
		inputs = r.Properties.Inputs(env.Files)
		m.mu.Lock()
		if m.inputs == nil {
			m.inputs = map[*manifest.Resource]templates.Inputs{}
		}
		m.inputs[r] = inputs
		m.mu.Unlock()
	}
	key = memoKey{resource: r, name: name}
	key.inputs, ok = inputs.Key(env)
	return key, ok
}

func (m *memo) recall(key memoKey) *made {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.young[key]; found != nil {
		return found
	}
	found := m.old[key]
	if found != nil {
		m.put(key, found)
	}
	return found
}

func (m *memo) remember(key memoKey, what *made) {
	if what.unfit {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, what)
}

func (m *memo) put(key memoKey, what *made) {
	const overhead = 500 // bytes, of keys and maps
	size := int64(overhead+len(what.properties)) + what.size
	if m.size += size; m.young == nil || m.size > maxMemo {
		m.young, m.old, m.size = map[memoKey]*made{}, m.young, size
	}
	m.young[key] = what
}

// take adds what was made, for this host or an equal one, to the catalog.
func (p *compilation) take(what *made) {
	c := &p.out.Contents
	c.texts, c.files, c.downloads = merged(c.texts, what.texts), merged(c.files, what.files), merged(c.downloads, what.downloads)
	c.from = p.opts.Downloads
	p.size += what.size
	p.out.NeedsFull = p.out.NeedsFull || what.needsFull
}

func merged[V any](into, from map[string]V) map[string]V {
	if into == nil && len(from) > 0 {
		into = map[string]V{}
	}
	maps.Copy(into, from)
	return into
}

package templates

import (
	"slices"
	"strings"
)

// mentions is what an expression or a template can read, from its syntax tree.
type mentions struct {
	roots    map[string]bool // by their names in expressions
	facts    []string        // paths below the facts
	allFacts bool            // any path below the facts
	data     []string        // paths below the data
	// allData is any path below the data.
	allData bool
	// volatile: a clock or chance has a say in the result.
	volatile bool
	calls    []*renderCall // template() and jet()
	paths    []readPath    // file()
}

func (m *mentions) root(name string) {
	if m.roots == nil {
		m.roots = map[string]bool{}
	}
	m.roots[name] = true
}

// path notes a read of keys below a root. keys may end early, where the rest
// cannot be known.
func (m *mentions) path(root string, keys []string) {
	m.root(root)
	// A key with a dot in it would look like two.
	if i := slices.IndexFunc(keys, func(key string) bool { return strings.Contains(key, ".") }); i >= 0 {
		keys = keys[:i]
	}
	switch path := strings.Join(keys, "."); {
	case root == factsRoot && path == "":
		m.allFacts = true
	case root == factsRoot:
		m.facts = append(m.facts, path)
	case root == dataRoot && path == "":
		m.allData = true
	case root == dataRoot:
		m.data = append(m.data, path)
	}
}

// lookup notes a read of a gjson path, as far as it is plain keys.
func (m *mentions) lookup(path string) {
	switch root, keys, known := lookupPath(path); {
	case !known:
		m.anything()
	case root != "":
		m.path(root, keys)
	}
}

// lookupPath takes a gjson path apart, as far as it is plain keys. known is
// false if not even the root is; the root is "" if there is none of that name.
func lookupPath(path string) (root string, keys []string, known bool) {
	for key := range strings.SplitSeq(path, ".") {
		if _, plain := plainPath(key); !plain {
			break
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return "", nil, false
	}
	for _, root := range rootNames() {
		if strings.ToLower(root) == keys[0] {
			return root, keys[1:], true
		}
	}
	return "", nil, true
}

// anything notes a read of a path that is computed.
func (m *mentions) anything() {
	m.allFacts, m.allData = true, true
	for _, root := range rootNames() {
		m.root(root)
	}
}

func (m *mentions) add(other *mentions) {
	for root := range other.roots {
		m.root(root)
	}
	m.facts, m.data = append(m.facts, other.facts...), append(m.data, other.data...)
	m.allFacts, m.allData = m.allFacts || other.allFacts, m.allData || other.allData
	m.volatile = m.volatile || other.volatile
	m.calls = append(m.calls, other.calls...)
	m.paths = append(m.paths, other.paths...)
}

func (m *mentions) readsFacts() bool { return m.roots[factsRoot] || m.allFacts }

// follow adds what the called templates can read, through their sources. A
// template that cannot be read can be anything.
func (m *mentions) follow(files *Files) *mentions {
	total := &mentions{}
	total.add(m)
	m.eachCalled(files, func(_ *renderCall, called *mentions, err error) {
		if err != nil {
			total.anything()
			return
		}
		total.add(called)
	})
	return total
}

// eachCalled visits what the called templates mention, and what those call in
// turn, each file once. err says that a template cannot be read.
func (m *mentions) eachCalled(files *Files, visit func(call *renderCall, called *mentions, err error)) {
	seen := map[string]bool{}
	var walk func(*mentions)
	walk = func(m *mentions) {
		for _, call := range m.calls {
			if key := call.key(); key != "" {
				if seen[key] {
					continue
				}
				seen[key] = true
			}
			called, err := call.mentions(files)
			visit(call, called, err)
			if err == nil {
				walk(called)
			}
		}
	}
	walk(m)
}

// result is what Facts returns: sorted paths, each once.
func (m *mentions) result() (paths []string, all bool) {
	if m.allFacts {
		return nil, true
	}
	return distinct(m.facts), false
}

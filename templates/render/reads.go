package render

import (
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Reads has the values that an expression or a template can read, from its syntax tree.
type Reads struct {
	Roots    map[string]bool // names in expressions
	facts    []string        // paths below the facts
	allFacts bool            // any path below the facts
	data     []string        // paths below the data
	allData  bool            // any path below the data
	host     []string        // paths below the inventory's values of the host
	allHost  bool            // any of them
	item     []string        // paths below the item
	allItem  bool            // any path below the item
	outer    []string        // paths below the item further out
	allOuter bool            // any of them

	results    []string // paths below the results of the host
	allResults bool     // any of them

	others    []string   // paths below the facts of other hosts
	allOthers bool       // any of them
	Volatile  bool       // a clock or chance has a say in the result
	Ordered   bool       // the order of keys in maps has a say in the result
	Calls     []*Call    // template() and jet()
	Files     []FilePath // file()
	NATS      []NATSCall // kvGet(), registrations()
}

// Root notes that a root is named, and that any of it may be read if it is an item
// or the results.
func (m *Reads) Root(name string) {
	m.allItem, m.allOuter = m.allItem || name == ItemRoot, m.allOuter || name == OuterRoot
	m.allResults = m.allResults || name == ResultsRoot
	m.root(name)
}

func (m *Reads) root(name string) {
	if m.Roots == nil {
		m.Roots = map[string]bool{}
	}
	m.Roots[name] = true
}

// Path notes a read of keys below a root. keys may end early, where the rest
// cannot be known.
func (m *Reads) Path(root string, keys []string) {
	m.root(root)
	if root == HostsRoot { // names of hosts may have dots
		if keys = factsOf(keys); keys == nil {
			return
		}
	}
	// A key with a dot in it would look like two.
	if i := slices.IndexFunc(keys, func(key string) bool { return strings.Contains(key, ".") }); i >= 0 {
		keys = keys[:i]
	}
	switch path := strings.Join(keys, "."); {
	case root == FactsRoot && path == "":
		m.allFacts = true
	case root == FactsRoot:
		m.facts = append(m.facts, path)
	case root == DataRoot && path == "":
		m.allData = true
	case root == DataRoot:
		m.data = append(m.data, path)
	case root == HostRoot && path == "":
		m.allHost = true
	case root == HostRoot:
		m.host = append(m.host, path)
	case root == ResultsRoot && path == "":
		m.allResults = true
	case root == ResultsRoot:
		m.results = append(m.results, path)
	case root == HostsRoot && path == "":
		m.allOthers = true
	case root == HostsRoot:
		m.others = append(m.others, path)
	case root == ItemRoot && path == "":
		m.allItem = true
	case root == ItemRoot:
		m.item = append(m.item, path)
	case root == OuterRoot && path == "":
		m.allOuter = true
	case root == OuterRoot:
		m.outer = append(m.outer, path)
	}
}

// Lookup notes a read of a gjson path, as far as it is plain keys.
func (m *Reads) Lookup(path string) {
	switch root, keys, known := LookupPath(path); {
	case !known:
		m.Anything()
	case root != "":
		m.Path(root, keys)
	}
}

// Anything notes a read of a path that is computed.
func (m *Reads) Anything() {
	m.allFacts, m.allData, m.allHost, m.allOthers, m.allResults = true, true, true, true, true
	for _, root := range RootNames() {
		m.Root(root)
	}
}

// NamesItem reports whether the element of an each is named. A path that is computed does not count.
func (m *Reads) NamesItem() bool {
	anything := m.allFacts && m.allData && m.allHost && m.allOthers
	return !anything && (m.Roots[ItemRoot] || m.Roots[OuterRoot])
}

// Add adds everything recorded in other.
func (m *Reads) Add(other *Reads) {
	for root := range other.Roots {
		m.root(root)
	}
	m.item, m.allItem = append(m.item, other.item...), m.allItem || other.allItem
	m.outer, m.allOuter = append(m.outer, other.outer...), m.allOuter || other.allOuter
	m.facts, m.data, m.host = append(m.facts, other.facts...), append(m.data, other.data...), append(m.host, other.host...)
	m.allFacts, m.allData, m.allHost = m.allFacts || other.allFacts, m.allData || other.allData, m.allHost || other.allHost
	m.others, m.allOthers = append(m.others, other.others...), m.allOthers || other.allOthers
	m.results, m.allResults = append(m.results, other.results...), m.allResults || other.allResults
	m.Volatile, m.Ordered = m.Volatile || other.Volatile, m.Ordered || other.Ordered
	m.Calls = append(m.Calls, other.Calls...)
	m.Files = append(m.Files, other.Files...)
	m.NATS = append(m.NATS, other.NATS...)
}

func (m *Reads) readsFacts() bool { return m.Roots[FactsRoot] || m.allFacts }

// Follow adds what the called templates can read, through their sources. A
// template that cannot be read can be anything.
func (m *Reads) Follow(files *Files) *Reads {
	total := &Reads{}
	total.Add(m)
	m.eachCalled(files, func(_ *Call, called *Reads, err error) {
		if err != nil {
			total.Anything()
			return
		}
		total.Add(called)
	})
	return total
}

// eachCalled visits the called templates, and the templates that they call in turn, each file once. err is set if a
// template cannot be read.
func (m *Reads) eachCalled(files *Files, visit func(call *Call, called *Reads, err error)) {
	seen := map[string]bool{}
	var walk func(*Reads)
	walk = func(m *Reads) {
		for _, call := range m.Calls {
			if key := call.key(); key != "" {
				if seen[key] {
					continue
				}
				seen[key] = true
			}
			called, err := call.reads(files)
			visit(call, called, err)
			if err == nil {
				walk(called)
			}
		}
	}
	walk(m)
}

// Result returns the facts that are read: sorted paths, each once. all reports that any fact may be read.
func (m *Reads) Result() (paths []string, all bool) {
	if m.allFacts {
		return nil, true
	}
	return distinct(m.facts), false
}

// Check parses all templates that are called. Each error has a position.
func (m *Reads) Check(files *Files) error {
	var errs []error
	m.eachCalled(files, func(call *Call, _ *Reads, err error) {
		if err != nil {
			errs = append(errs, diag.At(call.pos, err))
		}
	})
	return errors.Join(errs...)
}

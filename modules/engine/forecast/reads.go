package forecast

import (
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// A ReadSet is what an entry has read of the host. Nil notes nothing.
type ReadSet struct {
	paths     map[pathRead]bool
	things    map[thing]bool // what is no path
	probed    bool           // it has run a program that may read anything
	unordered map[int]bool   // entries that it does not come after, and that have planned what it has read
}

// A pathRead is how a path was read.
type pathRead struct {
	path   string
	follow bool // what a link there leads to
	names  bool // what is in the directory
}

// A thing is what an effect is about that is none on a path. Key "" is all of its kind.
type thing struct {
	kind modules.EffectKind
	key  string
}

// NewReadSet is the read set of an entry that has read nothing.
func NewReadSet() *ReadSet {
	return &ReadSet{paths: map[pathRead]bool{}, things: map[thing]bool{}, unordered: map[int]bool{}}
}

func (r *ReadSet) path(p pathRead) {
	if r != nil {
		r.paths[p] = true
	}
}

func (r *ReadSet) thing(kind modules.EffectKind, key string) {
	if r != nil {
		r.things[thing{kind, key}] = true
	}
}

func (r *ReadSet) probe() {
	if r != nil {
		r.probed = true
	}
}

// unordered is told where a state comes from that was predicted for the very thing.
func (h predictedHost) unordered(from origin) {
	if h.p.Reads != nil && from.ref != "" && !h.precedes(from.at, h.view) {
		h.p.Reads.unordered[h.plans[from.at-h.began-1].Entry] = true
	}
}

// withID is the key of the account of that kind that has an id.
func withID(id int) string { return "#" + strconv.Itoa(id) }

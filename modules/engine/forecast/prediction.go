package forecast

import (
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// A Doubt is a reason why a prediction may be wrong. The zero Doubt is none.
type Doubt struct {
	Ref   string        // the resource that the prediction depends on
	Grade modules.Grade // how sure the prediction is nevertheless
}

// Any reports whether there is a doubt.
func (d Doubt) Any() bool { return d.Ref != "" }

// Or returns the doubt of lower grade, d if the grades are equal.
func (d Doubt) Or(other Doubt) Doubt {
	if other.Any() && (!d.Any() || d.Grade == modules.Likely && other.Grade == modules.Unknown) {
		return other
	}
	return d
}

// A Prediction records the certainty of an entry's prediction: the first resource of the lowest grade on which its reads
// depended.
type Prediction struct {
	Because  Doubt    // set beforehand if a requirement is uncertain
	Reads    *ReadSet // everything that was read; nil if it is not needed
	inList   string   // dependency if the entry came after all entries before it in the list
	doubted  bool     // an answer was uncertain
	recorded bool     // the plan is in the forecast
}

// Doubt notes that an answer depended on a resource in an unknown way.
func (p *Prediction) Doubt(ref string) { p.Add(Doubt{ref, modules.Unknown}) }

// Add notes a doubt about an answer.
func (p *Prediction) Add(d Doubt) {
	if d.Any() {
		p.doubted = true
		p.Because = p.Because.Or(d)
	}
}

// unread adds a doubt if the content of a path with a prediction cannot be read yet: a plan brings the file, and does not
// predict its content.
func (p *Prediction) unread(s predictedPath, predicted bool, err error) {
	if predicted && modules.NotThere(err) {
		p.Doubt(s.ref)
	}
}

// Recorded notes that the plan is in the forecast.
func (p *Prediction) Recorded() { p.recorded = true }

// Unrecorded reports whether answers were uncertain and no plan is in the forecast: the
// entry may turn out to act, in an unknown way.
func (p *Prediction) Unrecorded() bool { return p.doubted && !p.recorded }

// doubtInList notes on what an answer would depend in a list.
func (p *Prediction) doubtInList(ref string) {
	if p.inList == "" {
		p.inList = ref
	}
}

// AsInList doubts what a list would have put in doubt.
func (p *Prediction) AsInList() {
	if p.inList != "" {
		p.Doubt(p.inList)
	}
}

// A ReadSet holds the reads of an entry. A nil ReadSet records nothing.
type ReadSet struct {
	paths     map[pathRead]bool
	things    map[thing]bool // things that are not paths
	probed    bool           // it has run a program that may read anything
	unordered map[int]bool   // entries with plans for the same things, which are not ordered before it
}

// A pathRead is one read of a path.
type pathRead struct {
	path   string
	follow bool // it read the target of a link
	names  bool // it read the names in the directory
	knows  modules.EffectKind
}

// A thing is the object of an effect without a path. An empty key means all of its kind.
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

// withID is the key of the account of that kind that has an id.
func withID(id int) string { return "#" + strconv.Itoa(id) }

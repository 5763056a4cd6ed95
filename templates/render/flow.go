package render

import (
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A Taint has the values, in addition to its facts, that a host has influenced.
type Taint struct {
	Data    map[string]bool // keys of the data that are made of facts
	Item    bool            // Item or Outer is made of facts
	AllData bool            // any key of the data may be made of facts
}

// A Flow has the sources of a value that a host may influence. Conditions and comparisons pass nothing on.
type Flow struct {
	Facts, item bool
	data        []string // keys of the data
	allData     bool     // any of them
	Variables   []string
}

// Add adds all sources of another value.
func (f *Flow) Add(more Flow) {
	f.Facts, f.item, f.allData = f.Facts || more.Facts, f.item || more.item, f.allData || more.allData
	f.data = append(f.data, more.data...)
	f.Variables = append(f.Variables, more.Variables...)
}

// Path adds the value at a path below a root.
func (f *Flow) Path(root string, keys []string) {
	switch {
	case root == FactsRoot, root == ResultsRoot, root == HostsRoot && factsOf(keys) != nil:
		f.Facts = true
	case root == ItemRoot, root == OuterRoot:
		f.item = true
	case root == DataRoot && len(keys) == 0:
		f.allData = true
	case root == DataRoot:
		f.data = append(f.data, keys[0])
	}
}

// factsOf returns the path below the facts of a host of Hosts to which keys may lead, possibly an empty one; nil if
// they lead elsewhere. Facts of another host are trusted no more than a host's facts in its own play.
func factsOf(keys []string) []string {
	switch {
	case len(keys) < 2:
		return []string{}
	case keys[1] == FactsKey:
		return keys[2:]
	}
	return nil
}

// Anything adds everything, for a value whose origin cannot be known.
func (f *Flow) Anything() { f.Facts, f.item, f.allData = true, true, true }

// Lookup adds the value at a gjson path, as far as it is plain keys.
func (f *Flow) Lookup(path string) {
	if root, keys, known := LookupPath(path); known {
		f.Path(root, keys)
	} else {
		f.Anything()
	}
}

// AddReads adds everything that m reads, for a value that may come from any of it.
func (f *Flow) AddReads(m *Reads) {
	if len(m.Calls)+len(m.NATS) > 0 { // a rendered template, or a value from NATS, can be anything
		f.Anything()
	}
	f.Facts = f.Facts || m.readsFacts() || m.Roots[ResultsRoot] || m.allOthers || len(m.others) > 0
	f.item = f.item || m.Roots[ItemRoot] || m.Roots[OuterRoot]
	f.allData = f.allData || m.Roots[DataRoot]
}

// Hostile reports whether the host has had a say in the value.
func (f Flow) Hostile(taint Taint) bool {
	return f.Facts || f.item && taint.Item || f.allData && len(taint.Data) > 0 ||
		taint.AllData && (f.allData || len(f.data) > 0) ||
		slices.ContainsFunc(f.data, func(key string) bool { return taint.Data[key] })
}

// A FilePath is the path of a file(). A host must not have a say in it.
type FilePath struct {
	At   diag.Position
	Flow Flow
	Text string // expression of the path, as source text
}

// CheckPaths reports the paths that a host influences, including those in called templates.
func (m *Reads) CheckPaths(files *Files, taint Taint) error {
	var errs []error
	check := func(m *Reads) {
		for _, p := range m.Files {
			if p.Flow.Hostile(taint) {
				errs = append(errs, diag.At(p.At, HostilePath("file")))
			}
		}
	}
	check(m)
	m.eachCalled(files, func(_ *Call, called *Reads, err error) {
		if err == nil {
			check(called)
		}
	})
	return errors.Join(errs...)
}

// HostilePath returns the error for a path that is made from facts.
func HostilePath(function string) *diag.Fault {
	return diag.Faultf("%s: data from a host cannot choose which file ccm-push reads", function).
		WithHint(`choose between fixed file names, such as Facts.x == "y" ? "a.conf" : "b.conf"`)
}

// CallFlow returns the flow of the result of a function whose arguments have the flows args. path is the first argument
// if it is a literal. The text of a template can come from anything, and so can values from NATS.
func CallFlow(name string, path *string, args []Flow) (f Flow) {
	switch name {
	case "template", "jet", "jinja", "exec", "includeIfExists", "render", KVGetFunction, RegistrationsFunction:
		f.Anything()
		return f
	case "lookup":
		if path != nil {
			f.Lookup(*path)
		} else {
			f.Anything()
		}
		args = args[min(1, len(args)):]
	}
	for _, arg := range args {
		f.Add(arg)
	}
	return f
}

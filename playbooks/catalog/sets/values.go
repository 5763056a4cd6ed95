package sets

import (
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// Values are the values that are set at one place of a play. They belong to one goroutine.
type Values struct {
	results []*wire.Result  // results of earlier stages, by entry
	fixed   map[string]bool // keys that nothing may set
	values  map[string]value
	doubts  map[string]Doubt // keys whose values depend on results that are not known
	secret  map[string]bool  // keys that were set to secrets
	changes int              // how often values has changed
	parts   []*part          // parts that contain the current resource, the innermost last
}

// A value is the value of a key.
type value struct {
	value any
	at    *yamlpos.Node
	made  int // number of the change that made it, from 1
}

// A Doubt lists the entries that decide whether a value is set: pending entries run in this stage, unknown ones are only
// predicted.
type Doubt struct{ Pending, Unknown []int }

// And returns both doubts.
func (d Doubt) And(more Doubt) Doubt {
	return Doubt{slices.Concat(d.Pending, more.Pending), slices.Concat(d.Unknown, more.Unknown)}
}

// A part is a part of a play that a failure or a requirement can end before its last resource: of a block, or a manifest.
// If it ends before a set, the resources after the set in this part are skipped too. So they use the values at once, and
// only the resources after the part depend on the result of the set.
type part struct {
	ends    func() bool // reports whether an earlier resource may have ended it
	claims  []claim
	skipped bool // it may not run at all
}

// A claim is the value of a key whose set decides whether it counts.
type claim struct {
	key    string
	by     By
	made   int
	before value // the zero value means none
	doubt  Doubt // of before
}

// A By describes the entry that sets values.
type By struct {
	Entry  int
	Decide bool // its result decides whether they count
	Notify bool // they count only after a refresh
}

// New returns no values. results are the results of earlier stages, by entry. Nothing sets the keys in fixed.
func New(results []*wire.Result, fixed map[string]bool) *Values {
	return &Values{results: results, fixed: fixed, values: map[string]value{}, doubts: map[string]Doubt{}, secret: map[string]bool{}}
}

// Set sets a key, unless it is fixed.
func (v *Values) Set(pair yamlpos.Pair, by By) {
	key := pair.Key.Text
	if v.fixed[key] {
		return
	}
	v.changes++
	c := claim{key: key, by: by, made: v.changes, before: v.values[key], doubt: v.doubts[key]}
	v.values[key] = value{pair.Value.Any(), pair.Value, c.made}
	delete(v.doubts, key)
	if by.Decide {
		v.decide(c)
	} else if p := v.uncertain(); p != nil {
		p.claims = append(p.claims, c)
	}
}

// Hide makes a key secret from now on.
func (v *Values) Hide(key string) { v.secret[key] = true }

// Doubt notes that the value of a key depends on unknown results.
func (v *Values) Doubt(key string, d Doubt) {
	if !v.fixed[key] {
		v.doubts[key] = v.doubts[key].And(d)
	}
}

// Any reports whether the value of any key depends on unknown results.
func (v *Values) Any() bool { return len(v.doubts) > 0 }

// decide lets the result of an entry decide whether its value counts.
func (v *Values) decide(c claim) {
	if v.values[c.key].made != c.made { // a later set counts in any case
		return
	}
	var result *wire.Result
	if c.by.Entry < len(v.results) {
		result = v.results[c.by.Entry]
	}
	switch {
	case result == nil:
		v.doubts[c.key] = c.doubt.And(Doubt{Pending: []int{c.by.Entry}})
	case result.Grade != modules.Certain:
		v.doubts[c.key] = c.doubt.And(Doubt{Unknown: []int{c.by.Entry}})
	case result.Status == wire.Skipped, result.Status.HasFailed(), c.by.Notify && result.Status != wire.Changed:
		v.restore(c)
	}
}

// restore removes a value that does not count.
func (v *Values) restore(c claim) {
	v.changes++
	if v.values[c.key] = c.before; c.before.made == 0 {
		delete(v.values, c.key)
	}
	if len(c.doubt.Pending)+len(c.doubt.Unknown) > 0 {
		v.doubts[c.key] = c.doubt
	}
}

// Enter begins a part of the play, which [Values.Leave] ends. ends reports whether an earlier resource of the part may have
// ended it by then; skipped is set if the part may not run at all.
func (v *Values) Enter(skipped bool, ends func() bool) {
	v.parts = append(v.parts, &part{ends: ends, skipped: skipped})
}

// Leave ends the innermost part: from here on, the results of its sets decide.
func (v *Values) Leave() {
	last := len(v.parts) - 1
	p := v.parts[last]
	v.parts = v.parts[:last]
	for _, c := range slices.Backward(p.claims) {
		v.decide(c)
	}
}

// uncertain returns the innermost part that may have ended; nil means none.
func (v *Values) uncertain() *part {
	for _, p := range slices.Backward(v.parts) {
		if p.skipped || p.ends() {
			return p
		}
	}
	return nil
}

// over returns the values as a layer of data, and the secrets in it, without keys that a view has values of its own for.
func (v *Values) over(own map[string]int) (templates.Layer, secret.Paths) {
	l := templates.Layer{Name: "set", Values: map[string]any{}, Node: &yamlpos.Node{Kind: yamlpos.Map}}
	var secrets secret.Paths
	for _, key := range slices.Sorted(maps.Keys(v.values)) {
		one := v.values[key]
		if one.made <= own[key] {
			continue
		}
		l.Values[key] = one.value
		l.Node.Pairs = append(l.Node.Pairs, yamlpos.Pair{Key: &yamlpos.Node{Text: key, Value: key}, Value: one.at})
	}
	for key := range v.secret {
		if _, doubted := v.doubts[key]; doubted || v.values[key].made > own[key] {
			secrets.Add(secret.Everything(), key)
		}
	}
	return l, secrets
}

package manifest

import (
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// A Meta is how the engine treats a resource, whatever its type.
type Meta struct {
	Retry     int
	Delay     time.Duration
	Timeout   time.Duration // of one try; 0 is any time
	Limit     float64       // tries per second; 0 is any number
	Sema      []string      // as written, NAME or NAME:N; sorted, each once
	Hidden    bool
	Reverse   bool
	AutoEdge  bool
	AutoGroup bool
}

// hidden reports whether the resource is written as one that is never carried out.
func (r *Resource) hidden() bool {
	if r.Meta == nil {
		return false
	}
	hidden := r.Meta.Node.Get("hidden")
	return hidden != nil && hidden.Value == true
}

// DecodeMeta reads resolved values: what [Resource.Meta] comes to for a host; nil
// is the defaults.
func DecodeMeta(n *yamlpos.Node) (Meta, error) {
	m := Meta{AutoEdge: true, AutoGroup: true}
	if n == nil {
		return m, nil
	}
	var k keys.Meta
	var errs yamlpos.Errors
	errs.Add(yamlpos.Decode(n, &k))
	errs.Add(keys.CheckMeta(n, func(*yamlpos.Node) bool { return false }))
	m.Retry, m.Delay, m.Timeout, m.Limit = k.Retry, time.Duration(k.Delay), time.Duration(k.Timeout), k.Limit
	m.Hidden, m.Reverse = k.Hidden, k.Reverse
	if k.AutoEdge != nil {
		m.AutoEdge = *k.AutoEdge
	}
	if k.AutoGroup != nil {
		m.AutoGroup = *k.AutoGroup
	}
	m.Sema = slices.Sorted(slices.Values(k.Sema))
	return m, errs.Err()
}

package record

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Difference is a resource that ended differently on a host in two runs, or a host whose
// own end differs: Resource is then "".
type Difference struct {
	Host     string
	Resource string // type#name
	A, B     string // outcomes; empty if there was none
}

// Diff compares the outcomes of each host and resource in two runs.
func Diff(a, b *Run) ([]Difference, error) {
	endsA, err := ends(a)
	if err != nil {
		return nil, err
	}
	endsB, err := ends(b)
	if err != nil {
		return nil, err
	}
	var all []Difference
	keys := maps.Clone(endsA)
	maps.Copy(keys, endsB)
	for key := range keys {
		if endsA[key] != endsB[key] {
			all = append(all, Difference{key.host, key.resource, endsA[key], endsB[key]})
		}
	}
	slices.SortFunc(all, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Resource, y.Resource))
	})
	return all, nil
}

// An ended is the nth result of a resource on a host, from 0: several plays may have the resource.
type ended struct {
	host, resource string
	n              int
}

// ends returns the outcome of each host and resource.
func ends(r *Run) (map[ended]string, error) {
	all, results := map[ended]string{}, map[ended]int{}
	tally := new(events.Tally)
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		tally.Report(e)
		if result, ok := e.(events.Result); ok {
			of := ended{host: result.Host, resource: result.Type + "#" + result.Name}
			n := results[of]
			results[of]++
			of.n = n
			all[of] = resourceEnd(result)
		}
	}
	for host, h := range tally.SoFar().Hosts {
		all[ended{host: host}] = string(h.State)
	}
	return all, nil
}

func resourceEnd(r events.Result) string {
	switch {
	case r.Status == events.Changed && r.Check && r.Cause == events.Drift:
		return "would change (drift)"
	case r.Status == events.Changed && r.Check:
		return "would change"
	case r.Status == events.Changed && r.Cause == events.Drift:
		return "changed (drift)"
	case r.Status == events.Rescued && r.Error != "":
		return "rescued: " + r.Error
	case r.Status == events.Failed && r.Error != "":
		return "failed: " + r.Error
	}
	return string(r.Status)
}

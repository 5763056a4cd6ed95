package load

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// defaultParallel is how many resources of a host run at once in a graph that does
// not say it.
const defaultParallel = 4

// strategy reads how the resources of a play are ordered. over is what the plays say
// that include this one.
func (f *file) strategy(p *manifest.Play, n *yamlpos.Node, k *keys.Play, over ordering) {
	p.Strategy = k.Strategy
	if s := keys.Given(n.Get("strategy")); s != nil && s.Kind == yamlpos.Scalar && !slices.Contains([]string{manifest.Linear, manifest.Graph}, s.Text) {
		f.report.Add(s.Errorf("write linear, for the order written, or graph", "strategy %q is not known", s.Text))
		p.Strategy = manifest.Graph // in which fewer references are wrong
	}
	if over.strategy != "" {
		p.Strategy = over.strategy
	}
	p.Parallel = k.Parallel
	parallel := keys.Given(n.Get("parallel"))
	switch {
	case parallel == nil:
	case k.Parallel < 1 || k.Parallel > keys.MaxParallel:
		if _, whole := parallel.Value.(int64); whole { // otherwise decoding has reported it
			f.report.Add(parallel.Errorf("", "parallel %s is outside 1-%d", parallel.Text, keys.MaxParallel))
		}
	case !p.Graph() && keys.Given(n.Get("include")) == nil:
		f.report.Add(parallel.Errorf("write strategy: graph as well", "parallel has no meaning for resources that run in the order written"))
	}
	if over.parallel != 0 {
		p.Parallel = over.parallel
	}
	if p.Graph() && p.Parallel == 0 {
		p.Parallel = defaultParallel
	}
}

// An ordering is what an including play says of the order in the included ones.
type ordering struct {
	strategy string // "" is nothing
	parallel int    // 0 is nothing
}

package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// Strategies of a play.
const (
	linear   = "linear" // in the order written
	asAGraph = "graph"  // as they depend on each other
)

// defaultParallel is how many resources of a host run at once in a graph that does
// not say it.
const defaultParallel = 4

// Graph reports whether the resources of the play run in the order of what they
// depend on, several at once, and not in the order in which they are written.
func (p *Play) Graph() bool { return p.Strategy == asAGraph }

// strategy reads how the resources of a play are ordered. over is what the play
// says that includes this one.
func (l *loader) strategy(p *Play, n *yamlpos.Node, k *keys.Play) {
	p.Strategy = k.Strategy
	if s := given(n.Get("strategy")); s != nil && s.Kind == yamlpos.Scalar && !slices.Contains([]string{linear, asAGraph}, s.Text) {
		l.add(s.Errorf("write linear, for the order written, or graph", "strategy %q is not known", s.Text))
		p.Strategy = asAGraph // in which fewer references are wrong
	}
	if l.ordered.strategy != "" {
		p.Strategy = l.ordered.strategy
	}
	p.Parallel = k.Parallel
	parallel := given(n.Get("parallel"))
	switch {
	case parallel == nil:
	case k.Parallel < 1 || k.Parallel > keys.MaxParallel:
		if _, whole := parallel.Value.(int64); whole { // otherwise decoding has reported it
			l.add(parallel.Errorf("", "parallel %s is outside 1-%d", parallel.Text, keys.MaxParallel))
		}
	case !p.Graph() && given(n.Get("include")) == nil:
		l.add(parallel.Errorf("write strategy: graph as well", "parallel has no meaning for resources that run in the order written"))
	}
	if l.ordered.parallel != 0 {
		p.Parallel = l.ordered.parallel
	}
	if p.Graph() && p.Parallel == 0 {
		p.Parallel = defaultParallel
	}
	l.graph = p.Graph()
}

// An ordering is what an including play says of the order in the included ones.
type ordering struct {
	strategy string // "" is nothing
	parallel int    // 0 is nothing
}

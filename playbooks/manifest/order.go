package manifest

import (
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// Strategies of a play.
const (
	linear   = "linear" // in the order written
	asAGraph = "graph"  // as they depend on each other
)

// Bounds of parallel.
const (
	defaultParallel = 4
	maxParallel     = 64
)

// Graph reports whether the resources of the play run in the order of what they
// depend on, several at once, and not in the order in which they are written.
func (p *Play) Graph() bool { return p.Strategy == asAGraph }

// strategy reads how the resources of a play are ordered. over is what the play
// says that includes this one.
func (l *loader) strategy(p *Play, n *yamlpos.Node, keys *playKeys) {
	p.Strategy = keys.Strategy
	if s := given(n.Get("strategy")); s != nil && s.Kind == yamlpos.Scalar && !slices.Contains([]string{linear, asAGraph}, s.Text) {
		l.add(s.Errorf("write linear, for the order written, or graph", "strategy %q is not known", s.Text))
		p.Strategy = asAGraph // in which fewer references are wrong
	}
	if l.ordered.strategy != "" {
		p.Strategy = l.ordered.strategy
	}
	p.Parallel = keys.Parallel
	parallel := given(n.Get("parallel"))
	switch {
	case parallel == nil:
	case keys.Parallel < 1 || keys.Parallel > maxParallel:
		if _, whole := parallel.Value.(int64); whole { // otherwise decoding has reported it
			l.add(parallel.Errorf("", "parallel %s is outside 1-%d", parallel.Text, maxParallel))
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

// anywhere checks a reference of resource number i of a graph: its target may stand
// everywhere but in what the resource applies, or around it.
func (l *loader) anywhere(x *index, i int, ref *yamlpos.Node) error {
	typeName, name, err := l.parseReference(ref)
	if err != nil {
		return err
	}
	targets := x.called[ref.Text]
	_, isOpen := x.firstOpen(typeName)
	for _, target := range targets {
		switch {
		case target == i && len(targets) > 1:
		case target == i:
			return ref.Errorf("", "%s refers to itself", ref.Text)
		case target >= x.begins[i] && target < i:
			return ref.Errorf("remove the reference: it runs as a part of this one", "%s belongs to what %s applies", ref.Text, x.written(i))
		case x.begins[target] <= i && i < target:
			return ref.Errorf("remove the reference: it ends after all that it applies", "%s applies the manifest that this stands in", ref.Text)
		}
	}
	if len(targets) > 0 || isOpen {
		return nil
	}
	return ref.Errorf(x.suggestion(typeName, name), "no resource is called %s", ref.Text)
}

// later checks a reference of before or notify of resource number i, where
// resources run in the order written: its target must stand later.
func (l *loader) later(x *index, i int, ref *yamlpos.Node, mirror string) error {
	if err := l.anywhere(x, i, ref); err != nil {
		return err
	}
	typeName, _, _ := ParseReference(ref)
	targets := x.called[ref.Text]
	_, isOpen := x.firstOpen(typeName)
	if isOpen || slices.ContainsFunc(targets, func(target int) bool { return target > i }) {
		return nil
	}
	at := x.all[targets[0]].Name.Node
	where := fmt.Sprintf("line %d", at.Line)
	if at.File != ref.File {
		where = at.Pos()
	}
	return ref.Errorf(fmt.Sprintf("resources run in the order written: write %s: [%s] here, move this one up, or write strategy: graph at the play", mirror, ref.Text),
		"%s stands earlier, at %s", ref.Text, where)
}

// mirrored checks the references of resource number i to what comes after it.
func (l *loader) mirrored(x *index, i int, r *Resource) {
	for _, list := range r.OrderLists() {
		if !list.Mirror {
			continue
		}
		for _, ref := range literals(list.Value) {
			before := len(l.errs)
			if l.graph {
				l.add(l.anywhere(x, i, ref))
			} else {
				l.add(l.later(x, i, ref, list.Mirrored()))
			}
			if list.Kind == graph.Subscribe && len(l.errs) == before {
				l.add(l.notified(ref))
			}
		}
	}
}

// written is how the manifest calls a resource.
func (x *index) written(i int) string { return x.all[i].Type.Name + "#" + x.all[i].Name.Node.Text }

// notified checks that what shall be refreshed can be.
func (l *loader) notified(ref *yamlpos.Node) error {
	typeName, _, err := ParseReference(ref)
	t, ok := l.registry.Lookup(typeName)
	if err != nil || !ok { // which is reported by itself
		return nil
	}
	return CheckNotified(ref, t)
}

// CheckNotified is the error of notify for a resource whose type has no refresh.
func CheckNotified(ref *yamlpos.Node, t modules.Type) error {
	if _, ok := t.New().(modules.Refresher); ok {
		return nil
	}
	return ref.Errorf("use before for the order", "type %s has no refresh, so it cannot be notified", t.Name)
}

// receiving checks what resource number i receives, as far as it is literal.
func (l *loader) receiving(x *index, i int) {
	r := x.all[i]
	if r.Recv == nil {
		return
	}
	for _, pair := range r.Recv.Node.Pairs {
		if r.Recv.Open(pair.Value) {
			continue
		}
		name, key, err := l.sent(pair.Value, func(ref string) bool { return x.called[ref] != nil })
		if err != nil {
			l.add(err)
			continue
		}
		ref := *pair.Value
		ref.Text = name
		if err := l.refer(x, i, &ref); err != nil {
			l.add(err)
			continue
		}
		for _, target := range x.called[name] {
			l.add(CheckSender(x.all[target], pair.Value, key))
		}
	}
}

// CheckSender is the error of receiving from a resource that sends nothing.
func CheckSender(r *Resource, at *yamlpos.Node, key string) error {
	if r.Applies() {
		return at.Errorf("receive from the resources of that manifest", "%s applies a manifest, and has no values of its own", r.Type.Name+"#"+r.Name.Node.Text)
	}
	if r.Meta == nil {
		return nil
	}
	if hidden := r.Meta.Node.Get("hidden"); hidden != nil && hidden.Value == true {
		return at.Errorf("remove hidden there", "%s is hidden, so that it sends no %s", r.Type.Name+"#"+r.Name.Node.Text, key)
	}
	return nil
}

// refer checks a reference to what comes before resource number i.
func (l *loader) refer(x *index, i int, ref *yamlpos.Node) error {
	if l.graph {
		return l.anywhere(x, i, ref)
	}
	return l.reference(x, i, ref)
}

// circular reports resources that wait for each other in a graph, by what is
// literal.
func (l *loader) circular(x *index) {
	vertices := make([]graph.Vertex, len(x.all))
	within := make([]int, len(x.all))
	for i := range x.all {
		vertices[i] = graph.Vertex{Ref: x.written(i), Within: -1}
		within[i] = -1
	}
	for i := range x.all { // the innermost comes first
		for j := x.begins[i]; j < i; j++ {
			if within[j] < 0 {
				within[j] = i
			}
		}
	}
	for i := range vertices {
		vertices[i].Within = within[i]
	}
	_, err := graph.New(vertices, l.edges(x))
	if circle, ok := err.(*graph.CircleError); ok {
		l.add(Circular(circle))
	} else {
		l.add(err)
	}
}

// edges are those of the literal references.
func (l *loader) edges(x *index) []graph.Edge {
	var all []graph.Edge
	for i, r := range x.all {
		all = append(all, l.received(x, i)...)
		for _, list := range r.OrderLists() {
			for _, ref := range literals(list.Value) {
				for _, target := range x.called[ref.Text] {
					if target == i {
						continue
					}
					e := graph.Edge{From: target, To: i, Kind: list.Kind, Why: list.Key, At: ref}
					if list.Mirror {
						e.From, e.To = i, target
					}
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// received are the edges of what resource number i receives.
func (l *loader) received(x *index, i int) []graph.Edge {
	r := x.all[i]
	if r.Recv == nil {
		return nil
	}
	var all []graph.Edge
	for _, pair := range r.Recv.Node.Pairs {
		if r.Recv.Open(pair.Value) {
			continue
		}
		ref, _, _ := l.sent(pair.Value, func(ref string) bool { return x.called[ref] != nil })
		for _, target := range x.called[ref] {
			if target != i {
				all = append(all, graph.Edge{From: target, To: i, Kind: graph.Receive, Why: "recv", At: pair.Value})
			}
		}
	}
	return all
}

// Circular is the error of resources that wait for each other, at the first place
// where that is written.
func Circular(circle *graph.CircleError) error {
	for _, e := range circle.Edges {
		if e.At != nil {
			return e.At.Errorf("remove one of these", "%v", circle)
		}
	}
	return circle
}

// An OrderList is a list of references that says in which order resources run.
type OrderList struct {
	Key    string
	Value  *Value // nil if it is not given
	Kind   graph.Kind
	Mirror bool // what it names comes after the resource, not before
}

// OrderLists are the lists of the resource.
func (r *Resource) OrderLists() []OrderList {
	return []OrderList{
		{"require", r.Require, graph.Require, false},
		{"subscribe", r.Subscribe, graph.Subscribe, false},
		{"before", r.Before, graph.Require, true},
		{"notify", r.Notify, graph.Subscribe, true},
	}
}

// Mirrored is the key at the other end that says the same.
func (o OrderList) Mirrored() string {
	return map[string]string{"before": "require", "notify": "subscribe"}[o.Key]
}

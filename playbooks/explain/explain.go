package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// An Explanation explains a resource on a host.
type Explanation struct {
	Host       string     `json:"host"`
	Play       string     `json:"play"`
	Resource   string     `json:"resource"` // type#name
	Alias      string     `json:"alias,omitempty"`
	Runs       bool       `json:"runs"`            // set if it is checked, and applied if it differs
	Place      int        `json:"place,omitempty"` // in the order of the host's resources, from 1
	Of         int        `json:"of,omitempty"`    // that many
	Because    []Reason   `json:"because"`
	Properties []Property `json:"properties"`
	WaitsFor   []Relation `json:"waits_for"`
	Triggers   []Relation `json:"triggers"`
	Others     []string   `json:"other_hosts,omitempty"` // values from and for resources of other hosts
	LastRun    *Past      `json:"last_run"`              // last recorded run with the resource, or nil
	LastChange *Past      `json:"last_change"`           // the last that changed it
}

// A Reason is a reason why a resource is in the run, or is not.
type Reason struct {
	Key  string `json:"key"` // written, include, within, hosts, tags, each, if, unless, noop, not run
	Text string `json:"text,omitempty"`
	At   string `json:"at,omitempty"` // file:line:column
}

// A Property is one that the resource was given.
type Property struct {
	Name       string  `json:"name"`
	Value      any     `json:"value"`
	Withheld   bool    `json:"withheld,omitempty"`
	From       string  `json:"from"` // written, defaults, type, received
	At         string  `json:"at,omitempty"`
	Expression string  `json:"expression,omitempty"`
	Inputs     []Input `json:"inputs,omitempty"` // values that the expression can read
}

// An Input is a value that an expression, or a template that it renders, can read.
type Input struct {
	Kind     string   `json:"kind"` // data, fact, item, template
	Name     string   `json:"name"`
	Value    any      `json:"value,omitempty"`
	Missing  bool     `json:"missing,omitempty"` // there is no such value
	Whole    bool     `json:"whole,omitempty"`   // any of it may be read
	Withheld bool     `json:"withheld,omitempty"`
	From     []Origin `json:"from,omitempty"`   // lowest first; of several the last counts, or they are merged
	Inputs   []Input  `json:"inputs,omitempty"` // inputs of its expressions, without inputs that were listed before
}

// An Origin is a place that sets a value.
type Origin struct {
	Layer      string `json:"layer"`
	At         string `json:"at,omitempty"`
	Expression string `json:"expression,omitempty"` // expression of the value, if it is short
}

// A Relation is the relation of another resource to this one.
type Relation struct {
	Resource string `json:"resource"`
	How      string `json:"how"`
	Why      string `json:"why"`
	At       string `json:"at,omitempty"`
	Through  string `json:"through,omitempty"` // the resource that applies the manifest of this one, if the relation is that one's
}

// A Past is the outcome of the resource in a recorded run.
type Past struct {
	Run     string          `json:"run"`
	Started time.Time       `json:"started"`
	Play    string          `json:"play"`
	Status  events.Status   `json:"status"`
	Cause   events.Cause    `json:"cause,omitempty"`
	Error   string          `json:"error,omitempty"`
	Changes []events.Change `json:"changes,omitempty"`
}

// Find returns the numbers of the resources with a reference: type#name or type#alias.
func Find(r *catalog.Rendered, ref string) []int {
	rank := ranks(r)
	var all []int
	for _, v := range r.Graph.Find(ref) {
		all = append(all, rank[v])
	}
	slices.Sort(all)
	return all
}

// Refs names the resources of a host.
func Refs(r *catalog.Rendered) []string {
	var all []string
	for i := range r.Resources {
		e := &r.Resources[i].Entry
		all = append(all, e.Ref(), e.Type+"#"+e.Name)
	}
	return all
}

// ranks returns, by vertex of the graph, the number of the resource.
func ranks(r *catalog.Rendered) []int {
	rank := make([]int, len(r.Graph.Order))
	for place, vertex := range r.Graph.Order {
		rank[vertex] = place
	}
	return rank
}

// Of explains resource i of a play that is rendered for a host. The files of the play must still be open.
func Of(ctx context.Context, play *manifest.Play, host string, r *catalog.Rendered, i int) (*Explanation, error) {
	one := &r.Resources[i]
	x := &explainer{play: play, host: host, rendered: r, rank: ranks(r)}
	e := &Explanation{
		Host: host, Play: play.Name, Resource: one.Entry.Type + "#" + one.Entry.Name, Alias: one.Entry.Alias,
		Runs: !one.Entry.Excluded, Place: i + 1, Of: len(r.Resources),
		Because: x.because(ctx, i),
	}
	var err error
	if e.Properties, err = x.properties(one); err != nil {
		return nil, fmt.Errorf("explaining %s: %w", e.Resource, err)
	}
	if e.WaitsFor, e.Triggers = []Relation{}, []Relation{}; e.Runs {
		e.WaitsFor, e.Triggers = x.relations(i)
	}
	e.Others = r.Graph.Vertices[r.Graph.Order[i]].Exchanged(true)
	return e, nil
}

// An explainer explains resources of one play on one host.
type explainer struct {
	play     *manifest.Play
	host     string
	rendered *catalog.Rendered
	rank     []int // number of the resource by vertex of the graph
}

// within returns the resource that applies the manifest of resource i; -1 if it belongs to the play itself.
func (x *explainer) within(i int) int {
	g := x.rendered.Graph
	if w := g.Vertices[g.Order[i]].Within; w >= 0 {
		return x.rank[w]
	}
	return -1
}

package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/dsc"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/templates"
)

// An AskedFact is one that a play asks its hosts for. At has its name.
type AskedFact struct {
	At    *yamlpos.Node
	Query facts.Query
}

// A Play is a CCM manifest and where it runs.
type Play struct {
	Name         string          // as written, or the file's name
	File         string          // that the resources stand in
	Nth          int             // number among the plays of the file with the same name, from 0
	Included     []*yamlpos.Node // where the file is included, outermost first; none if it was given
	Folder       string          // the only one its files are read from
	Programs     string          // a folder that takes the place of resources/ in Folder; "" is that
	Hosts        *yamlpos.Node
	Become       *bool // nil: as the inventory or the command line says
	BecomeUser   string
	BecomeMethod string
	Serial       []BatchSize     // empty: all hosts in one batch
	MaxFail      *float64        // percent of a batch's hosts; nil: no limit
	AnyFatal     bool            // the first failure of a host ends the run
	Rollout      *Rollout        // nil: Serial, MaxFail and AnyFatal say how it goes
	Watch        []*Value        // what is said of watching, later ones over earlier ones; see [ReadWatch]
	HostFacts    []*yamlpos.Node // patterns of other hosts that are asked for their facts first
	AskedFacts   []AskedFact     // what its hosts are asked when they are first reached
	Strategy     string          // see [Play.Graph]
	Parallel     int             // resources of a host at once, in a graph: 1-64
	Tags         []string
	// RememberedAs is the name of the play for its hosts, by which they know in later
	// runs what it had them do; nil if they remember nothing.
	RememberedAs *yamlpos.Node
	Data         templates.Source
	Over         []templates.Source // data of the plays that include this one, the nearest first
	Defaults     *yamlpos.Node      // of resources, by type and of all; nil if there are none
	Strict       bool               // see [modules.Strict]
	FailOnError  bool
	NoHistory    bool // nothing is kept of what was there before
	Confirm      Confirm
	Pre, Post    *Value // messages; nil if there is none
	Resources    []*Resource
	// Configuration is the DSC configuration document that the play is made of; nil if
	// it is none.
	Configuration *dsc.Document
	// JetFile names a template of the folder that gives the resources of each
	// host, in place of Resources; nil if there is none. See [Play.Generate].
	JetFile *yamlpos.Node

	// Undo is what the play takes back of an earlier run, in place of Resources; nil of all
	// other plays.
	Undo *Undo

	// Earlier holds, by host, the effects of earlier calls on an ad-hoc call of the same session; nil if it refers to none.
	Earlier map[string]Earlier

	Registry modules.Registry // the types that there are
	PerHost  PerHost          // nil if nothing of the play depends on the host
	Warnings []string         // of the file; on its first play

	selection *Selection // of the resources that JetFile gives; nil: all
	// beforeStart says that all its resources are before the resource that --start-at names.
	beforeStart bool
}

// Earlier is the effect of earlier calls of a session on the resource of an ad-hoc call, on one host.
type Earlier struct {
	Unmet   []string `json:"unmet,omitempty"`   // required resources that went wrong there
	Changed []string `json:"changed,omitempty"` // resources it subscribes to that changed there
}

// InSession gives the resource of an ad-hoc call an alias, if it is not empty, and the effects of earlier calls.
func (p *Play) InSession(alias string, earlier map[string]Earlier) {
	p.Earlier = earlier
	if r := p.Resources[0]; alias != "" {
		v := Literal(yamlpos.From(r.Name.Node, alias))
		r.Alias = &v
	}
}

// An Undo is what a play takes back of an earlier run.
type Undo struct {
	Run  string
	Only []string // resources, as type#name; none are all
	// Hosts are those of the play, and Changed those of which it is known that the run has
	// changed them: on the others there may be nothing to take back.
	Hosts   []string
	Changed map[string]bool
	// Resources holds the changed resources that each host has reported, as type#name.
	Resources map[string][]string
}

// A PerHost reads what of a play is known only for one host. Several hosts may ask at
// once.
type PerHost interface {
	// Generate reads the resources that the play's JetFile writes.
	Generate(ctx context.Context, p *Play, env *templates.Env) ([]*Resource, error)
	// Nested reads the manifest that a resource of the play applies.
	Nested(ctx context.Context, p *Play, r *Resource, at *yamlpos.Node, nest modules.Nest) (*Play, error)
}

// Generate gives the resources that the play's JetFile writes for one host. What
// the template prints are values: no part of them is read as YAML or as an
// expression. Positions are those in the text that it has written.
func (p *Play) Generate(ctx context.Context, env *templates.Env) ([]*Resource, error) {
	resources, err := p.PerHost.Generate(ctx, p, env)
	if err != nil {
		return nil, err
	}
	p.mark(resources)
	return resources, nil
}

// Warnings are what looks like a mistake in the files of the plays and need not
// be one.
func Warnings(plays []*Play) []string {
	var all []string
	for _, p := range plays {
		for _, w := range p.Warnings { // a file may be included twice
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// Graph reports whether the resources of the play run in the order of what they
// depend on, several at once, and not in the order in which they are written.
func (p *Play) Graph() bool { return p.Strategy == Graph }

// Strategies of a play.
const (
	Linear = "linear" // in the order written
	Graph  = "graph"  // as they depend on each other
)

// Type finds a resource type by name.
func (p *Play) Type(name string) (modules.Type, bool) { return WithBlock(p.Registry).Lookup(name) }

// SplitSent is [reference.SplitValue], for the types of the play.
func (p *Play) SplitSent(n *yamlpos.Node, exists func(ref string) bool) (ref, key string, err error) {
	return reference.SplitValue(n, p.Registry, exists)
}

// HostPattern is the play's own pattern: "all" if it has none.
func (p *Play) HostPattern() string {
	if p.Hosts == nil {
		return "all"
	}
	return p.Hosts.Text
}

// ID names the play for notes on hosts: it stays the same while the file and the name do. It is empty for a
// play without a file.
func (p *Play) ID() string {
	if p.File == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", p.File, p.Name, p.Nth))
	return hex.EncodeToString(sum[:8])
}

// Whole reports whether the run is about the whole play.
func (p *Play) Whole() bool { return p.selection.all() }

// Notifies reports whether anything in the plays of the run has notify.
func (p *Play) Notifies() bool { return p.selection != nil && p.selection.notifies }

// LiteralRefs names the resources of the play, as type#name, as far as they are known
// before any host is.
func (p *Play) LiteralRefs() []string {
	var refs []string
	Walk(p.Resources, func(r *Resource, _ int) {
		if !r.Name.HasExpressions() && !r.Unselected {
			refs = append(refs, r.Ref())
		}
	})
	return refs
}

// A BatchSize is how many hosts a batch has: a number, or a share of the play's
// hosts.
type BatchSize struct {
	Count   int
	Percent float64 // used when Count is 0
}

// Of gives the size in hosts of n: at least 1.
func (b BatchSize) Of(n int) int {
	if b.Count > 0 {
		return b.Count
	}
	return max(1, int(b.Percent/100*float64(n)))
}

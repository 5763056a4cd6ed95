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

// An AskedFact is a fact that a play requests from its hosts. At has its name.
type AskedFact struct {
	At    *yamlpos.Node
	Query facts.Query
}

// A Play is a CCM manifest and where it runs.
type Play struct {
	Name         string          // as written, or the file's name
	File         string          // file that has the resources
	Nth          int             // number among the plays of the file with the same name, from 0
	Included     []*yamlpos.Node // where the file is included, outermost first; none if it was given
	Folder       string          // the only one its files are read from
	Programs     string          // a folder that takes the place of resources/ in Folder; "" is that
	Hosts        *yamlpos.Node
	Become       *bool // nil means the setting of the inventory or the command line
	BecomeUser   string
	BecomeMethod string
	Serial       []BatchSize     // empty: all hosts in one batch
	MaxFail      *float64        // percent of a batch's hosts; nil: no limit
	AnyFatal     bool            // the first failure of a host ends the run
	Rollout      *Rollout        // nil means that Serial, MaxFail and AnyFatal control the order
	Watch        []*Value        // watch settings, later ones override earlier ones; see [ReadWatch]
	HostFacts    []*yamlpos.Node // patterns of other hosts whose facts are gathered first
	AskedFacts   []AskedFact     // facts that are requested from its hosts when they are first reached
	Strategy     string          // see [Play.Graph]
	Parallel     int             // resources of a host at once, in a graph: 1-64
	Tags         []string
	// RememberedAs is the play's name on its hosts. By that name they know in later runs which resources they had; nil
	// if they remember nothing.
	RememberedAs *yamlpos.Node
	Data         templates.Source
	Over         []templates.Source // data of the plays that include this one, the nearest first
	Defaults     *yamlpos.Node      // defaults of resources, by type and for all; nil means none
	Strict       bool               // see [modules.Strict]
	FailOnError  bool
	NoHistory    bool // previous states are not kept
	Confirm      Confirm
	Pre, Post    *Value // messages; nil means none
	Resources    []*Resource
	// Configuration is the DSC configuration document from which the play is made; nil means none.
	Configuration *dsc.Document
	// JetFile names a template of the folder that writes the resources of each host, instead of Resources; nil means
	// none. See [Play.Generate].
	JetFile *yamlpos.Node

	// Undo describes what the play reverts of an earlier run, instead of Resources; nil for all other plays.
	Undo *Undo

	// Earlier holds, by host, the effects of earlier calls on an ad-hoc call of the same session; nil if it refers to none.
	Earlier map[string]Earlier

	Registry modules.Registry // the types that there are
	PerHost  PerHost          // nil if nothing of the play depends on the host
	Warnings []string         // warnings of the file; set on its first play

	selection *Selection // selection among the resources that JetFile writes; nil means all
	// beforeStart is set if all its resources are before the resource that --start-at names.
	beforeStart bool
}

// Earlier is the effect of earlier calls of a session on the resource of an ad-hoc call, on one host.
type Earlier struct {
	Unmet   []string `json:"unmet,omitempty"`   // required resources that went wrong there
	Changed []string `json:"changed,omitempty"` // resources it subscribes to that changed there
}

// InSession sets the alias of the resource of an ad-hoc call, unless it is empty, and the effects of earlier calls.
func (p *Play) InSession(alias string, earlier map[string]Earlier) {
	p.Earlier = earlier
	if r := p.Resources[0]; alias != "" {
		v := Literal(yamlpos.From(r.Name.Node, alias))
		r.Alias = &v
	}
}

// An Undo describes what a play reverts of an earlier run.
type Undo struct {
	Run  string
	Only []string // resources, as type#name; none are all
	// Hosts has the hosts of the play, and Changed the hosts that the run is known to have changed: on the others there
	// may be nothing to revert.
	Hosts   []string
	Changed map[string]bool
	// Resources holds the changed resources that each host has reported, as type#name.
	Resources map[string][]string
}

// A PerHost reads the parts of a play that are known only for one host. It is safe for concurrent use.
type PerHost interface {
	// Generate reads the resources that the play's JetFile writes.
	Generate(ctx context.Context, p *Play, env *templates.Env) ([]*Resource, error)
	// Nested reads the manifest that a resource of the play applies.
	Nested(ctx context.Context, p *Play, r *Resource, at *yamlpos.Node, nest modules.Nest) (*Play, error)
}

// Generate returns the resources that the play's JetFile writes for one host. Values that the template prints stay
// values: no part of them is read as YAML or as an expression. Positions are positions in the template's output.
func (p *Play) Generate(ctx context.Context, env *templates.Env) ([]*Resource, error) {
	resources, err := p.PerHost.Generate(ctx, p, env)
	if err != nil {
		return nil, err
	}
	p.mark(resources)
	return resources, nil
}

// Warnings returns the possible mistakes in the files of the plays.
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

// Graph reports whether the resources of the play run several at once, in the order of their dependencies, instead of
// in the written order.
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

// A BatchSize is the number of hosts of a batch: a count, or a share of the play's hosts.
type BatchSize struct {
	Count   int
	Percent float64 // used when Count is 0
}

// Of returns the batch size for n hosts: at least 1.
func (b BatchSize) Of(n int) int {
	if b.Count > 0 {
		return b.Count
	}
	return max(1, int(b.Percent/100*float64(n)))
}

package resource

import (
	"context"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// A Reader reads the resources of one manifest, and reports their errors.
type Reader struct {
	Registry   modules.Registry
	Report     *manifest.Report
	Values     *manifest.ValueReader
	Nested     bool                                                    // another manifest applies this one
	Remembered bool                                                    // hosts remember the play
	Strict     bool                                                    // the play is
	AdHoc      bool                                                    // the resource is one of the command line
	Defaults   *yamlpos.Node                                           // defaults of the play; nil means none
	Folder     string                                                  // folder of the play
	PerHost    manifest.PerHost                                        // per-host reader of the play
	Apply      func(context.Context, *manifest.Resource)               // reads the manifest that a resource applies; nil reads none
	Rules      func(ctx context.Context, at *yamlpos.Node) []GossRules // reads the files of rules of goss that at names; nil reads none

	on   *manifest.Value // host for resources that name none, from a surrounding block; nil means none
	once *yamlpos.Node   // setting of a block that its resources run once; nil means none
}

// one reads one resource, whose properties and other keys are in body.
func (rd *Reader) one(ctx context.Context, t modules.Type, name, body *yamlpos.Node) *manifest.Resource {
	t, body = rd.member(t, body)
	r := &manifest.Resource{Type: t, Name: rd.Values.Value(name), Strict: rd.Strict}
	p, ok := rd.split(t, name, body)
	if !ok {
		r.Properties = rd.Values.Value(&yamlpos.Node{Kind: yamlpos.Map}) // already reported; no more errors for it
		return r
	}
	r.Properties = rd.Values.WithKeys(p.props, values(p.props)...) // properties that are maps may have expressions in their keys
	rd.common(ctx, r, p.common)
	rd.checkReceiving(r, p.guessed)
	p.checkSet(rd, r)
	if r.Applies() && rd.Apply != nil {
		rd.Apply(ctx, r)
	}
	return r
}

// values returns the values of a map.
func values(n *yamlpos.Node) []*yamlpos.Node {
	list := make([]*yamlpos.Node, len(n.Pairs))
	for i, pair := range n.Pairs {
		list[i] = pair.Value
	}
	return list
}

// Literal reads a resource of the command line or of a DSC document. It has a name and
// properties, in which nothing is an expression, and no other keys.
func (rd *Reader) Literal(t modules.Type, body *yamlpos.Node) (*manifest.Resource, bool) {
	name := keys.Given(body.Get("name"))
	if name == nil {
		return nil, false
	}
	p, _ := rd.split(t, name, body)
	r := &manifest.Resource{Type: t, Name: manifest.Literal(name), Properties: manifest.Literal(p.props)}
	rd.checkProperties(r, p.guessed)
	return r, true
}

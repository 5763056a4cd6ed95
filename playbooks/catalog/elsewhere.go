package catalog

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// on returns the host on which a resource runs; empty means the host that it is for.
func (x *expansion) on(ctx context.Context, r *manifest.Resource, env *templates.Env) (string, error) {
	if r.On == nil {
		return "", nil
	}
	name, err := r.On.Text(ctx, env)
	has := x.compiler.opts.HasHost
	switch {
	case err != nil:
		return "", err
	case name == x.host && name != "":
		return "", nil
	case name == "", name != manifest.Controller && has != nil && !has(name):
		return "", r.On.Node.Errorf(`"on" takes the name of one host, or `+manifest.Controller, "no host of the inventory is called %q", name)
	}
	return name, nil
}

// elsewhere adds the entry of a resource that runs on another host. Its properties are sent only to the other host. The
// host of the play gets an entry without properties, for the order.
func (x *expansion) elsewhere(e wire.Entry, o origin, p resolved, shown RenderedResource) int {
	there := e
	there.Once, there.On, there.Require, there.Properties, there.Sema = false, "", nil, p.made.properties, nil
	there.Fetch = p.made.fetch
	there.Register = o.resource.Register != nil
	guest := expansion{compiler: x.compiler, draft: &draft{
		entries: []wire.Entry{there}, origins: []origin{{resource: o.resource, shared: p.shared, longest: p.made.longest}},
	}}
	guest.take(p.made)
	x.size += guest.size + int64(len(there.Properties))
	bundled, err := x.compiler.manifests.union(guest.draft.bundles)
	x.errs.Add(err)
	o.elsewhere = x.compiler.finish(guest.draft, bundled)
	alone := &o.elsewhere.Catalog
	alone.Parallel, alone.FailOnError = 0, false
	here := e
	here.Health, here.Retry, here.Delay, here.Timeout, here.Limit = nil, 0, 0, 0, 0
	i := x.add(here, o, shown)
	if x.show {
		e.Properties = there.Properties
		x.draft.origins[i].shown.Entry = e
	}
	return i
}

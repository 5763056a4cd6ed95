package manifest

import (
	"path"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// This file has the keys of a resource for one host, after all expressions are resolved.

// A Meta has the settings for how the engine treats a resource, whatever its type.
type Meta struct {
	Retry     int
	Rerun     bool
	Delay     time.Duration
	Timeout   time.Duration // limit of one try; 0 means none
	Limit     float64       // tries per second; 0 means any number
	Sema      []string      // as written, NAME or NAME:N; sorted, each once
	Hidden    bool
	Reverse   bool
	NoHistory bool
	Confirm   wire.ConfirmMode // empty means the play's setting
	Watch     *yamlpos.Node    // see [ReadWatch]; nil means the play's setting
	AutoEdge  bool
	AutoGroup bool
}

// DecodeMeta reads the resolved values of [Resource].Meta for a host; nil means the defaults.
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
	m.Hidden, m.Reverse, m.Rerun = k.Hidden, k.Reverse, k.Rerun
	m.Confirm = wire.ConfirmMode(k.Confirm)
	m.Watch = keys.Given(n.Get("watch"))
	m.NoHistory = k.History != nil && !*k.History
	if k.AutoEdge != nil {
		m.AutoEdge = *k.AutoEdge
	}
	if k.AutoGroup != nil {
		m.AutoGroup = *k.AutoGroup
	}
	m.Sema = slices.Sorted(slices.Values(k.Sema))
	return m, errs.Err()
}

func TooManyHealthChecks(n *yamlpos.Node) error {
	return n.Errorf("", "a resource has at most %d health checks, not %d", health.MaxChecks, len(n.Items))
}

// HealthChecks reads the health checks of a resource, with every expression
// resolved. The arguments of a command are not part of its name if it is sensitive.
func HealthChecks(n *yamlpos.Node, sensitive bool) ([]wire.HealthCheck, error) {
	var checks []health.Check
	if err := yamlpos.Decode(n, &checks); err != nil {
		return nil, err
	}
	if len(checks) > health.MaxChecks {
		return nil, TooManyHealthChecks(n)
	}
	var all []wire.HealthCheck
	var errs yamlpos.Errors
	for i := range checks {
		h, err := CompileHealth(n.Items[i], &checks[i])
		errs.Add(err)
		if sensitive && checks[i].Name == "" && len(h.Argv) > 0 {
			h.Name = path.Base(h.Argv[0])
		}
		all = append(all, h)
	}
	return all, errs.Err()
}

// CompileHealth makes one check, and errors with the positions of its properties.
func CompileHealth(n *yamlpos.Node, c *health.Check) (wire.HealthCheck, error) {
	var errs yamlpos.Errors
	if err := modules.CheckTags(c); err != nil {
		errs.Add(positionedHealth(n, err))
	}
	h, err := c.Compile()
	errs.Add(positionedHealth(n, err))
	return h, errs.Err()
}

func positionedHealth(n *yamlpos.Node, err error) error {
	var errs yamlpos.Errors
	for _, pe := range modules.PropertyErrors(err) {
		at := n
		if value := n.Get(pe.Path); value != nil {
			at = value
		}
		errs.Add(at.Errorf(pe.Hint, "%s", PropertyMessage(pe)))
	}
	return errs.Err()
}

// Registrations reads the registrations of a resource, with every expression resolved.
func Registrations(n *yamlpos.Node) ([]registry.Registration, error) {
	var entries []keys.Registration
	if err := yamlpos.Decode(n, &entries); err != nil {
		return nil, err
	}
	if err := keys.CheckRegistrations(n, func(*yamlpos.Node) bool { return false }); err != nil {
		return nil, err
	}
	list := make([]registry.Registration, len(entries))
	for i, e := range entries {
		list[i] = registry.Registration{
			Cluster: e.Cluster, Service: e.Service, Protocol: e.Protocol, Address: e.Address, Priority: e.Priority, Annotations: e.Annotations,
		}
		list[i].TTL, _ = registry.ParseTTL(e.TTL) // which was checked
		if keys.Given(n.Items[i].Get("port")) != nil {
			list[i].Port = &entries[i].Port
		}
	}
	return list, nil
}

// PropertyName returns the first spelling of a property.
func (r *Resource) PropertyName(key string) string { return CanonicalProperty(r.Type, key) }

// Received names the properties that the resource receives, from this host and
// from others.
func (r *Resource) Received() []string {
	var names []string
	if r.Recv != nil {
		for _, pair := range r.Recv.Node.Pairs {
			names = append(names, CanonicalProperty(r.Type, pair.Key.Text))
		}
	}
	for _, one := range r.Imports {
		names = append(names, one.Property)
	}
	return names
}

// CheckReceiving validates the resolved properties of a resource called name while received values are unknown. It
// reports errors that occur with any received value. The error carries positions.
func (r *Resource) CheckReceiving(node *yamlpos.Node, name string) error {
	with, unknown := WithUnknown(node, r.Received())
	p := PartialSet{
		PropertySet: PropertySet{Type: r.Type, Name: yamlpos.From(r.Name.Node, name), Node: with, Strict: r.Strict},
		Open:        func(n *yamlpos.Node) bool { return unknown[n] },
	}
	var errs yamlpos.Errors
	for _, pe := range p.Certain() {
		errs.Add(Positioned(r, node, pe))
	}
	return errs.Err()
}

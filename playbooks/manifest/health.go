package manifest

import (
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
)

// healthValue compiles the expressions in the health checks of a resource, those in
// the keys of maps that are values among them.
func (l *loader) healthValue(n *yamlpos.Node) *Value {
	v := l.optional(n, "health_checks")
	if v == nil {
		return nil
	}
	before := len(v.texts)
	for _, item := range v.Node.Items {
		for _, pair := range item.Pairs {
			l.compileKeys(pair.Value, v.texts)
		}
	}
	v.keys = len(v.texts) > before
	return v
}

// healthChecks checks those health checks of a resource that hold no expressions;
// the others are looked at per host.
func (l *loader) healthChecks(v *Value) {
	if v == nil || v.Node.Kind != yamlpos.List {
		return
	}
	before := len(l.errs)
	var open func(*yamlpos.Node) bool
	open = func(n *yamlpos.Node) bool {
		if v.Open(n) {
			return true
		}
		for _, item := range n.Items {
			if open(item) {
				return true
			}
		}
		for _, pair := range n.Pairs {
			if v.Open(pair.Key) || open(pair.Value) {
				return true
			}
		}
		return false
	}
	for _, item := range v.Node.Items {
		if item.Kind != yamlpos.Map || open(item) {
			continue
		}
		var c health.Check
		if err := yamlpos.Decode(item, &c); err != nil {
			continue // which has been reported with the other keys
		}
		_, err := compileHealth(item, &c)
		l.add(err)
	}
	if n := len(v.Node.Items); len(l.errs) == before && n > health.MaxChecks {
		l.add(tooManyHealthChecks(v.Node))
	}
}

func tooManyHealthChecks(n *yamlpos.Node) error {
	return n.Errorf("", "a resource has at most %d health checks, not %d", health.MaxChecks, len(n.Items))
}

// hasRules reports whether a health check of the resource is made of rules of
// goss, as far as it is written as one.
func (r *Resource) hasRules() bool {
	return r.Health != nil && slices.ContainsFunc(r.Health.Node.Items, func(n *yamlpos.Node) bool { return given(n.Get("goss_rules")) != nil })
}

// HealthChecks reads the health checks of a resource, with every expression
// resolved. The arguments of a command are no part of its name if it is sensitive.
func HealthChecks(n *yamlpos.Node, sensitive bool) ([]modules.HealthCheck, error) {
	var checks []health.Check
	if err := yamlpos.Decode(n, &checks); err != nil {
		return nil, err
	}
	if len(checks) > health.MaxChecks {
		return nil, tooManyHealthChecks(n)
	}
	var all []modules.HealthCheck
	var errs yamlpos.Errors
	for i := range checks {
		h, err := compileHealth(n.Items[i], &checks[i])
		errs.Add(err)
		if sensitive && checks[i].Name == "" && len(h.Argv) > 0 {
			h.Name = path.Base(h.Argv[0])
		}
		all = append(all, h)
	}
	return all, errs.Err()
}

// compileHealth makes one check, and errors with the positions of its properties.
func compileHealth(n *yamlpos.Node, c *health.Check) (modules.HealthCheck, error) {
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
		errs.Add(at.Errorf(pe.Hint, "%s", property.Message(pe)))
	}
	return errs.Err()
}

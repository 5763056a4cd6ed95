package manifest

import (
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
)

func TooManyHealthChecks(n *yamlpos.Node) error {
	return n.Errorf("", "a resource has at most %d health checks, not %d", health.MaxChecks, len(n.Items))
}

// hasRules reports whether a health check of the resource is made of rules of
// goss, as far as it is written as one.
func (r *Resource) hasRules() bool {
	return r.Health != nil && slices.ContainsFunc(r.Health.Node.Items, func(n *yamlpos.Node) bool { return keys.Given(n.Get("goss_rules")) != nil })
}

// HealthChecks reads the health checks of a resource, with every expression
// resolved. The arguments of a command are no part of its name if it is sensitive.
func HealthChecks(n *yamlpos.Node, sensitive bool) ([]modules.HealthCheck, error) {
	var checks []health.Check
	if err := yamlpos.Decode(n, &checks); err != nil {
		return nil, err
	}
	if len(checks) > health.MaxChecks {
		return nil, TooManyHealthChecks(n)
	}
	var all []modules.HealthCheck
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
func CompileHealth(n *yamlpos.Node, c *health.Check) (modules.HealthCheck, error) {
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

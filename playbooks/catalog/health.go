package catalog

import (
	"context"
	"encoding/json"

	shellquote "github.com/kballard/go-shellquote"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// health resolves the health checks of a resource. Errors about what expressions
// gave are withheld if it is sensitive.
func (p *compilation) health(ctx context.Context, r *manifest.Resource, sensitive bool, env *templates.Env) []modules.HealthCheck {
	if r.Health == nil {
		return nil
	}
	n, err := r.Health.Resolve(ctx, env)
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	checks, err := manifest.HealthChecks(n, sensitive)
	if err != nil && sensitive {
		err = withheld(err)
	}
	p.errs.Add(err)
	for _, c := range checks {
		for _, word := range c.Argv {
			p.size += int64(len(word))
		}
		p.size += int64(len(c.Rules))
		if c.Rules != nil {
			p.out.NeedsFull = true
		}
	}
	return checks
}

// health writes the health checks of a resource, with their defaults.
func (w *writer) health(body *yaml.Node, checks []modules.HealthCheck) {
	if len(checks) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range checks {
		one := w.mapping()
		if c.Rules == nil {
			w.put(one, "command", w.plain(shellquote.Join(c.Argv...)), "")
		} else {
			var rules map[string]any
			if err := json.Unmarshal(c.Rules, &rules); err != nil && w.err == nil {
				w.err = err
			}
			w.put(one, "goss_rules", w.plain(rules), "")
		}
		w.put(one, "name", w.plain(c.Name), "")
		w.put(one, "tries", w.plain(c.Tries), "")
		w.put(one, "try_sleep", w.plain(c.TrySleep.String()), "")
		w.put(one, "timeout", w.plain(c.Timeout.String()), "")
		list.Content = append(list.Content, one)
	}
	w.put(body, "health_checks", list, "")
}

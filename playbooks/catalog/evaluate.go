package catalog

import (
	"context"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/templates"
)

// evaluate makes an entry with the keys that every resource has, without its references, its health checks and its
// properties.
func evaluate(ctx context.Context, r *manifest.Resource, env *templates.Env) (wire.Entry, manifest.Meta, error) {
	var errs yamlpos.Errors
	e := wire.Entry{
		Type:      r.Type.Name,
		Name:      text(ctx, &r.Name, env, &errs),
		Alias:     text(ctx, r.Alias, env, &errs),
		Query:     r.Query,
		Once:      r.Once,
		Check:     boolean(ctx, r.Noop, env, &errs),
		Sensitive: boolean(ctx, r.Sensitive, env, &errs),
	}
	own, err := meta(ctx, r, env)
	errs.Add(err)
	e.Retry, e.Delay, e.Timeout, e.Limit, e.Sema = own.Retry, own.Delay, own.Timeout, own.Limit, own.Sema
	e.Hidden, e.Reverse, e.NoHistory, e.Confirm, e.Rerun = own.Hidden, own.Reverse, own.NoHistory, own.Confirm, own.Rerun
	for _, one := range r.Imports {
		e.Receive = append(e.Receive, wire.Receive{Property: one.Property, From: -1, Key: one.Key, Sender: one.Ref + " of " + one.Host.Text})
	}
	for _, key := range r.Exports {
		e.Export = append(e.Export, key.Text)
	}
	return e, own, errs.Err()
}

// meta resolves how the engine treats a resource.
func meta(ctx context.Context, r *manifest.Resource, env *templates.Env) (manifest.Meta, error) {
	if r.Meta == nil {
		return manifest.DecodeMeta(nil)
	}
	n, err := r.Meta.Resolve(ctx, env)
	if err != nil {
		return manifest.Meta{}, err
	}
	return manifest.DecodeMeta(n)
}

// text resolves a value that is a text, or nil for "". Errors are added to errs.
func text(ctx context.Context, v *manifest.Value, env *templates.Env, errs *yamlpos.Errors) string {
	if v == nil {
		return ""
	}
	s, err := v.Text(ctx, env)
	errs.Add(err)
	return s
}

// boolean resolves a value that is true or false, or nil for false. Errors are added to errs.
func boolean(ctx context.Context, v *manifest.Value, env *templates.Env, errs *yamlpos.Errors) (b bool) {
	if v == nil {
		return false
	}
	n, err := v.Resolve(ctx, env)
	if err == nil {
		err = yamlpos.Decode(n, &b)
	}
	errs.Add(err)
	return b
}

// healthChecks resolves the health checks of a resource. Errors about what expressions
// gave are withheld if it is sensitive.
func healthChecks(ctx context.Context, r *manifest.Resource, sensitive bool, env *templates.Env) ([]wire.HealthCheck, error) {
	if r.Health == nil {
		return nil, nil
	}
	n, err := r.Health.Resolve(ctx, env)
	if err != nil {
		return nil, err
	}
	checks, err := manifest.HealthChecks(n, sensitive)
	if err != nil && sensitive {
		err = withheld(err)
	}
	return checks, err
}

// registrations resolves the registrations of a resource once it is stable. If it is sensitive, errors about results of
// expressions are withheld.
func registrations(ctx context.Context, r *manifest.Resource, sensitive bool, env *templates.Env) ([]registry.Registration, error) {
	if r.Registers == nil {
		return nil, nil
	}
	n, err := r.Registers.Resolve(ctx, env)
	if err != nil {
		return nil, err
	}
	list, err := manifest.Registrations(n)
	if err != nil && sensitive {
		err = withheld(err)
	}
	return list, err
}

// withheld takes the texts out of the errors of a sensitive resource: they may
// quote what its expressions gave.
func withheld(err error) error {
	var errs, safe yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		at := yamlpos.Node{File: e.File, Line: e.Line, Column: e.Column}
		safe.Add(at.Errorf("", "the value is not valid; the details are hidden because the resource is sensitive"))
	}
	return safe.Err()
}

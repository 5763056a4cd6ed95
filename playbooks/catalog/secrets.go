package catalog

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// marked returns the secrets in layers of data.
func marked(layers []templates.Layer) (paths secret.Paths) {
	for _, l := range layers {
		if len(l.From) > 0 {
			paths.Add(marked(l.From))
		} else {
			paths.Marked(l.Node, nil)
		}
	}
	return paths
}

// ofInventory are the secrets among the variables of a host.
func ofInventory(h Host) (paths secret.Paths) {
	for _, n := range h.Secrets {
		paths.Marked(n, nil)
	}
	return paths
}

// spread adds the data that is made of secrets, or of such data.
// item reports whether expressions read a secret in the element of an each; nil means that there is no element.
func (in *scope) spread(item func(templates.Inputs) bool) {
	if !in.hasSecrets() && item == nil {
		return
	}
	for more := true; more; {
		more = false
		for _, l := range in.values.Layers() {
			l.EachExpression(func(path []string, reads templates.Inputs) {
				if in.secrets.Whole(path) || !in.reads(reads, secret.Paths{}) && (item == nil || !item(reads)) {
					return
				}
				one := secret.Everything()
				in.secrets.Add(one, path...)
				more = true
			})
		}
	}
}

// hasSecrets reports whether there is anything that an expression could read.
func (in *scope) hasSecrets() bool { return !in.secrets.None() || in.inventorySecrets }

// reads reports whether a secret is among what expressions can read. item are the secrets of
// the element of an each.
func (in *scope) reads(inputs templates.Inputs, item secret.Paths) bool {
	if !in.hasSecrets() && item.None() {
		return false
	}
	if in.inventorySecrets && inputs.OtherHosts() {
		return true
	}
	if inputs.Volatile && in.env.Files == nil { // the templates that it calls cannot be looked at
		return true
	}
	return in.secrets.ReadBy(inputs.Data()) || in.ownSecrets.ReadBy(inputs.Host()) || item.ReadBy(inputs.ItemPaths())
}

// A use describes how a resource uses secrets.
type use struct {
	inputs  templates.Inputs // inputs of its properties, and of its health checks
	shown   []shownInputs
	secret  bool         // set if it receives one
	visible error        // it would show one
	item    secret.Paths // in the element of its each
}

// shownInputs has the inputs of a part of a resource that people see, sensitive or not.
type shownInputs struct {
	at     *yamlpos.Node
	inputs templates.Inputs
}

// useOf returns how a resource uses the secrets of a host.
func (c *Compiler) useOf(r *manifest.Resource, in *scope, env *templates.Env) (u use) {
	u.secret = in.revealed
	if !in.hasSecrets() {
		return u
	}
	u.item = in.itemSecrets(r, env)
	static := c.staticUse(r, in, env)
	u.secret = u.secret || in.reads(static.inputs, u.item) || in.readsOuter(static.inputs, r, env)
	var errs yamlpos.Errors
	for _, part := range static.shown {
		if in.reads(part.inputs, u.item) || in.readsOuter(part.inputs, r, env) {
			errs.Add(part.at.Errorf("use secrets only in properties and health checks; ccm-push always prints names, aliases, conditions and messages", "ccm-push would print a secret here%s", in.secretRead(part.inputs)))
		}
	}
	u.visible = errs.Err()
	return u
}

// staticUse returns the use that is the same for all hosts.
func (c *Compiler) staticUse(r *manifest.Resource, in *scope, env *templates.Env) *use {
	if known, ok := c.uses.Load(r); ok {
		return known.(*use)
	}
	u := &use{inputs: r.GivenInputs(env.Files)}
	for _, v := range r.Shown() {
		if v.HasExpressions() {
			u.shown = append(u.shown, shownInputs{v.Node, v.Inputs(env.Files)})
		}
	}
	if in.manifest.play.JetFile == nil { // else it is of this host alone
		c.uses.Store(r, u)
	}
	return u
}

// secretRead names the secrets among inputs, for an error.
func (in *scope) secretRead(inputs templates.Inputs) string {
	paths, _ := inputs.Data()
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !in.secrets.ReadBy([]string{path}, false) })
	if len(paths) == 0 {
		return ""
	}
	return ": Data." + strings.Join(paths, ", Data.")
}

// plainData matches an expression that is a path of the data and nothing else.
var plainData = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\{-?\s*Data((?:\.[A-Za-z_]\w*)+)\s*-?\}\}\s*$`)
})

// itemSecrets returns the secrets in an element of the resource's each, or of a surrounding block's each. If the list
// is computed from secrets, the whole element is secret; a list taken unchanged from the data keeps its own secrets.
func (in *scope) itemSecrets(r *manifest.Resource, env *templates.Env) secret.Paths {
	if r == nil || !env.HasItem || !in.hasSecrets() {
		return secret.Paths{}
	}
	if r.Each == nil {
		return in.itemSecrets(r.In, env)
	}
	inputs := r.Each.Inputs(env.Files)
	switch around := in.itemSecrets(r.In, env); {
	case in.reads(inputs, secret.Paths{}):
	case in.reads(inputs, around), in.readsOuter(inputs, r.In, env):
		return secret.Everything()
	default:
		return secret.Paths{}
	}
	if path := plainData().FindStringSubmatch(r.Each.Node.Text); path != nil {
		return in.secrets.Below(strings.Split(path[1][1:], ".")...).Element()
	}
	return secret.Everything()
}

// readsOuter reports whether a secret in Outer is among the inputs of a resource.
func (in *scope) readsOuter(inputs templates.Inputs, r *manifest.Resource, env *templates.Env) bool {
	for r != nil && r.Each == nil {
		r = r.In
	}
	return r != nil && in.itemSecrets(r.In, env).ReadBy(inputs.OuterPaths())
}

// checkShown refuses computed names that contain a secret, by whatever way it got there.
func (x *expansion) checkShown(r *manifest.Resource, in *scope, e *wire.Entry) error {
	if !in.hasSecrets() || !in.revealed && !r.Name.HasExpressions() && (r.Alias == nil || !r.Alias.HasExpressions()) {
		return nil
	}
	for _, text := range append([]string{e.Name, e.Alias}, e.Sema...) {
		if x.compiler.opts.Mask.Text(text) != text {
			return r.Name.Node.Errorf("use secrets only in properties and health checks; ccm-push always prints names, aliases, conditions and messages", "the name, or another printed part of the resource, contains a secret")
		}
	}
	return nil
}

// messages resolves the messages of a manifest. They are shown, so they hold no secrets.
func (in *scope) messages(ctx context.Context, errs *yamlpos.Errors) (pre, post string) {
	p := in.manifest.play
	for _, v := range []*manifest.Value{p.Pre, p.Post} {
		if v != nil && in.hasSecrets() && in.reads(v.Inputs(in.env.Files), secret.Paths{}) {
			errs.Add(v.Node.Errorf("remove the secret, because ccm-push prints this message", "the message contains a secret%s", in.secretRead(v.Inputs(in.env.Files))))
			return "", ""
		}
	}
	return text(ctx, p.Pre, in.env, errs), text(ctx, p.Post, in.env, errs)
}

// hideShort withholds errors that may contain a secret, if the secret is too short for a mask. For example, errors
// quote a missing path.
func (in *scope) hideShort(errs yamlpos.Errors) {
	if len(errs) == 0 {
		return
	}
	in.secrets.Each(in.env.Data, func(text string) {
		for i, e := range errs {
			if text != "" && len(text) < secret.Searchable && strings.Contains(e.Msg+e.Hint, text) {
				at := yamlpos.Node{File: e.File, Line: e.Line, Column: e.Column}
				errs[i] = at.Errorf("", "this value is invalid; the details are hidden because they may contain a secret")
			}
		}
	})
}

// masked takes the secrets out of errors.
func (c *Compiler) masked(err error) error {
	if c.opts.Mask.None() {
		return err
	}
	var errs, safe yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		one := *e
		one.Msg, one.Hint = c.opts.Mask.Text(e.Msg), c.opts.Mask.Text(e.Hint)
		safe.Add(&one)
	}
	return safe.Err()
}

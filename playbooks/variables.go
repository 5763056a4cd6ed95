package playbooks

import (
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// checkVariables reports variables of the inventory that a play can read and that would not have the meaning their
// author intended: Ansible evaluates them, or they are encrypted and cannot be opened. hosts has the hosts of each
// play.
func (r *Runner) checkVariables(compilers []*catalog.Compiler, hosts [][]*inventory.Host) error {
	dataErr := r.openData(compilers)
	if r.Inventory == nil || !hasUnevaluated(r.Inventory) {
		return dataErr
	}
	r.openVariables(compilers)
	var found byHosts
	for i, c := range compilers {
		for _, h := range hosts[i] {
			found.add(h, r.unevaluated(c, h))
		}
	}
	return errors.Join(dataErr, found.err(0))
}

// openData opens what the plays read of their data on every host, before any is contacted, and
// reports what cannot be.
func (r *Runner) openData(compilers []*catalog.Compiler) error {
	set := map[string]bool{}
	if r.Inventory != nil {
		for _, l := range r.Inventory.Layers() {
			for _, p := range l.Node.Pairs {
				set[p.Key.Text] = true
			}
		}
	}
	var sealed []*yamlpos.Node
	for _, c := range compilers {
		sealed = append(sealed, c.Sealed(func(key string) bool { return set[key] })...)
	}
	yamlpos.OpenAll(sealed)
	var errs yamlpos.Errors
	for _, n := range sealed {
		_, err := n.Open()
		errs.Add(err)
	}
	return manifest.Distinct(errs)
}

// openVariables opens the variables of the inventory that a play can read, all at once.
func (r *Runner) openVariables(compilers []*catalog.Compiler) {
	var sealed []*yamlpos.Node
	for _, l := range r.Inventory.Layers() {
		eachUnevaluated("", l.Node, func(path string, n *yamlpos.Node) bool {
			if n.CanOpen() && slices.ContainsFunc(compilers, func(c *catalog.Compiler) bool { return c.ReadsData(path) }) {
				sealed = append(sealed, n)
			}
			return true
		})
	}
	yamlpos.OpenAll(sealed)
}

// variables returns the expressions in the variables of the inventory, or nil.
func (r *Runner) variables() *templates.Variables {
	if r.Inventory == nil || !hasUnevaluated(r.Inventory) {
		return nil
	}
	var maps []*yamlpos.Node
	for _, l := range r.Inventory.Layers() {
		maps = append(maps, l.Node)
	}
	return templates.ParseVariables(maps)
}

// hasUnevaluated is quick for the many inventories without such variables.
func hasUnevaluated(inv *inventory.Inventory) bool {
	for _, l := range inv.Layers() {
		if !eachUnevaluated("", l.Node, func(string, *yamlpos.Node) bool { return false }) {
			return true
		}
	}
	return false
}

// unevaluated returns the errors of the variables that apply to a host. Variables set by -e are not from the inventory.
func (r *Runner) unevaluated(c *catalog.Compiler, h *inventory.Host) (errs yamlpos.Errors) {
	values := map[string]*yamlpos.Node{}
	for _, l := range h.WholeLayers() {
		for _, p := range l.Node.Pairs {
			values[p.Key.Text] = p.Value
		}
	}
	for _, extra := range r.Options.Catalog.Extra {
		for name := range extra.Values {
			delete(values, name)
		}
	}
	for name, value := range values {
		eachUnevaluated(name, value, func(path string, n *yamlpos.Node) bool {
			if n.CanOpen() && c.ReadsData(path) {
				_, err := n.Open()
				errs.Add(err)
				return true
			}
			if !c.Variables().Understood(n) && c.ReadsData(path) {
				errs.Add(notUnderstood(c.Variables(), path, n))
			}
			return true
		})
	}
	return errs
}

// eachUnevaluated visits the texts in a variable that Ansible would evaluate or decrypt, until visit returns false;
// then it returns false as well. Items of a list are visited under the path of the list, and values whose key has a dot
// under the path of their map.
func eachUnevaluated(path string, n *yamlpos.Node, visit func(path string, n *yamlpos.Node) bool) bool {
	if yamlpos.IsTemplate(n) || n.Sealed != nil {
		return visit(path, n)
	}
	here := func(_ string, n *yamlpos.Node) bool { return visit(path, n) }
	for _, item := range n.Items {
		if !eachUnevaluated(path, item, here) {
			return false
		}
	}
	for _, p := range n.Pairs {
		below, visitBelow := strings.TrimPrefix(path+"."+p.Key.Text, "."), visit
		if strings.Contains(p.Key.Text, ".") {
			below, visitBelow = path, here
		}
		if !eachUnevaluated(below, p.Value, visitBelow) {
			return false
		}
	}
	return true
}

// notUnderstood is the error for a variable that is used, and that Ansible alone can evaluate.
func notUnderstood(in *templates.Variables, path string, n *yamlpos.Node) *yamlpos.Error {
	if n.Sealed != nil {
		return unevaluatedError(path, n)
	}
	return templates.NotUnderstood(n, path, in.Why(n))
}

// unevaluatedError is the error for a variable that has no value here. It does not show the
// text, which may be a secret.
func unevaluatedError(path string, n *yamlpos.Node) *yamlpos.Error {
	switch {
	case n.Sealed != nil && n.Sealed.Tag == withheldTag:
		return n.Errorf("run this play without --workers", "the variable %q is a secret of another host, which workers are not given", path)
	case n.Sealed != nil:
		return n.EncryptedErrorf("the variable %q is encrypted by ansible-vault", path)
	}
	return n.Errorf("", "the variable %q contains a Jinja expression, which ccm-push cannot evaluate here", path)
}

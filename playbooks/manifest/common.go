package manifest

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// common reads the keys that every type has.
func (l *loader) common(r *Resource, n *yamlpos.Node) {
	r.Alias = l.optional(n, "alias")
	r.Require = l.optional(n, "require")
	r.Subscribe = l.optional(n, "subscribe")
	r.Before = l.optional(n, "before")
	r.Notify = l.optional(n, "notify")
	r.Each = l.optional(n, "each")
	r.Noop = l.optional(n, "noop")
	r.Sensitive = l.optional(n, "sensitive")
	r.Health = l.healthValue(n)
	register := l.optional(n, "register_when_stable")
	var k keys.Resource
	l.meta(r, n)
	l.decode(n, &k, yamlpos.Open(func(n *yamlpos.Node) bool {
		return slices.ContainsFunc(append(r.values(), register), func(v *Value) bool { return v != nil && v.Open(n) })
	}))
	r.Tags = k.Tags
	l.receives(r, n)
	l.exports(r, n)
	if control := n.Get("control"); control != nil {
		r.If = l.condition("control.if", given(control.Get("if")))
		r.Unless = l.condition("control.unless", given(control.Get("unless")))
	}
	l.checkTagTexts(n.Get("tags"))
	l.checkEach(r.Each)
	l.healthChecks(r.Health)
	l.registrations(n.Get("register_when_stable"))
	if _, ok := r.Type.New().(modules.Refresher); !ok && r.Subscribe != nil {
		l.add(r.Subscribe.Node.Errorf("use require for the order", "type %s has no refresh, so it cannot subscribe", r.Type.Name))
	}
}

func (l *loader) optional(n *yamlpos.Node, key string) *Value {
	field := given(n.Get(key))
	if field == nil {
		return nil
	}
	v := l.value(field)
	return &v
}

// checkTagTexts refuses expressions in tags, which are looked at before any
// host is.
func (l *loader) checkTagTexts(n *yamlpos.Node) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		if l.isOpen(item) {
			l.add(item.Errorf("use control for what depends on the host", "a tag cannot be an expression"))
		}
	}
}

func (l *loader) checkEach(each *Value) {
	if each == nil || each.Node.Kind == yamlpos.List || each.Open(each.Node) {
		return
	}
	l.add(each.Node.Errorf(`write a list, or an expression that gives one: each: "{{ Data.sites }}"`, "each must be a list, not %s", each.Node.Describe()))
}

// condition reads an expression without delimiters.
func (l *loader) condition(key string, n *yamlpos.Node) *templates.Expr {
	if n == nil || n.Kind != yamlpos.Scalar { // a wrong shape is reported by decoding
		return nil
	}
	text := strings.TrimSpace(n.Text)
	switch _, isText := n.Value.(string); {
	case text == "":
		l.add(n.Errorf(`write a comparison, such as Data.x == "y", or leave it out`, "%s is empty", key))
		return nil
	case l.marked.Has(text):
		l.add(n.Errorf("let the expression read Data or Facts itself", "a printed value cannot be part of %s", key))
		return nil
	case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "${"):
		l.add(n.Errorf(`write it bare: if: Data.role == "web"`, "%s is an expression already, without delimiters", key))
		return nil
	case !isText && text != "true" && text != "false":
		l.add(n.Errorf(`write a comparison, such as Data.x == "y"`, "%s must be true or false, not %s", key, n.Describe()))
		return nil
	}
	e, err := templates.ParseExpr(n.Text, templates.At(n))
	if err == nil {
		err = e.CheckBool()
	}
	l.add(err)
	return e
}

package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/templates"
)

// commonKeys are the keys that every type has. The type's own properties stand
// beside them.
type commonKeys struct {
	Alias     string      `json:"alias" doc:"another name, for references and reports"`
	Require   []string    `json:"require" doc:"earlier resources, as type#name, without which this one is skipped"`
	Subscribe []string    `json:"subscribe" doc:"earlier resources whose change refreshes this one"`
	Before    []string    `json:"before" doc:"later resources that are skipped without this one: require, written at the other end"`
	Notify    []string    `json:"notify" doc:"later resources that a change of this one refreshes: subscribe, written at the other end"`
	Control   controlKeys `json:"control" hint:"write control: {if: Data.x == 'y'}" doc:"whether the resource is managed at all"`
	Each      any         `json:"each" doc:"a list: one resource per element, which is Item"`
	Noop      bool        `json:"noop" doc:"only predict this resource, also in a run that changes things"`
	Sensitive bool        `json:"sensitive" doc:"show no content, output or diff of it anywhere"`
	Tags      []string    `json:"tags" doc:"labels of the resource"`

	Health []health.Check `json:"health_checks" hint:"write - command: /usr/lib/nagios/plugins/check_disk -w 10%" doc:"questions to the host after the resource has had its turn; if the answer is not OK, it has failed"`

	metaKeys
	Recv   map[string]any `json:"recv" hint:"write recv: {content: exec#token.stdout}" doc:"properties whose values another resource sends: PROPERTY: type#name.key, or PROPERTY: {host: NAME, from: type#name.key}"`
	Export []string       `json:"export" doc:"the values that other hosts may receive, such as stdout"`

	Register []registration `json:"register_when_stable" doc:"what CCM publishes once the resource is stable; it is checked and ignored"`
}

type controlKeys struct {
	If     string `json:"if" doc:"an expression; the resource is managed when it is true"`
	Unless string `json:"unless" doc:"an expression; the resource is not managed when it is true"`
}

var (
	commonNames = jsonNames(reflect.TypeFor[commonKeys]())
	metaType    = reflect.TypeFor[metaKeys]()
)

func jsonNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if f.Anonymous {
			names = append(names, jsonNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

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
	var keys commonKeys
	l.meta(r, n)
	l.decode(n, &keys, yamlpos.Open(func(n *yamlpos.Node) bool {
		return slices.ContainsFunc(append(r.values(), register), func(v *Value) bool { return v != nil && v.Open(n) })
	}))
	r.Tags = keys.Tags
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

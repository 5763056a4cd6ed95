package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	shellquote "github.com/kballard/go-shellquote"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health/goss"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// Shown selects the output of [Rendered.YAML] in addition to data and resources.
type Shown struct {
	Explain bool // where each value comes from
	Secrets bool // as they are
}

// YAML writes the compiled play in the form of a manifest, for people: its data, and its resources with their names as
// a property. It is not a manifest to run: a text with {{ would be an expression there. With Explain, comments name the
// source of each value. Properties of a sensitive resource are withheld, and so are the secrets in the data, unless
// with.Secrets is set.
func (r *Rendered) YAML(title string, with Shown) ([]byte, error) {
	w := &writer{layers: r.Layers, explain: with.Explain, secrets: with.Secrets, ofPlay: r.Watch}
	ccm := w.mapping()
	if r.Pre != "" {
		w.put(ccm, "pre_message", w.plain(r.Pre), "")
	}
	if r.Post != "" {
		w.put(ccm, "post_message", w.plain(r.Post), "")
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range r.Resources {
		list.Content = append(list.Content, w.resource(r.Resources, i))
	}
	w.put(ccm, "resources", list, "")
	doc := w.mapping()
	w.put(doc, "data", w.data(w.redacted(r.Secrets, r.Data)), "")
	if r.WatchAt != nil {
		w.put(doc, "watch", w.watch(r.Watch, nil), w.at(r.WatchAt, r.WatchAt))
	}
	w.put(doc, "ccm", ccm, "")
	doc.HeadComment = title
	if w.err != nil {
		return nil, w.err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(doc)
	return out.Bytes(), err
}

// A writer makes nodes of YAML.
type writer struct {
	layers  []templates.Layer
	explain bool
	secrets bool // are written as they are
	ofPlay  *watch.Rules
	err     error // the first one
}

// redacted returns data without its secrets, unless secrets are to be written.
func (w *writer) redacted(secrets secret.Paths, data any) any {
	if w.secrets {
		return data
	}
	return secrets.Redacted(data)
}

func (w *writer) mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// plain makes the node of a plain value.
func (w *writer) plain(v any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(templates.WithoutRefused(v)); err != nil && w.err == nil {
		w.err = err
	}
	return n
}

// longestExpression bounds an expression that is printed after a place, in bytes.
const longestExpression = 60

// put adds an entry to a map, with a comment unless that is "".
func (w *writer) put(m *yaml.Node, key string, value *yaml.Node, comment string) {
	k := w.plain(key)
	switch {
	case comment == "":
	case len(value.Content) > 0, strings.Contains(value.Value, "\n"):
		k.LineComment = comment
	default:
		value.LineComment = comment
	}
	m.Content = append(m.Content, k, value)
}

// data writes the data with the origin of each value.
func (w *writer) data(data any) *yaml.Node {
	n := w.plain(data)
	if w.explain {
		w.origins(n, nil)
	}
	return n
}

func (w *writer) origins(n *yaml.Node, path []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			below := append(slices.Clone(path), key.Value)
			if len(value.Content) > 0 {
				w.origins(value, below)
			} else if strings.Contains(value.Value, "\n") {
				key.LineComment = w.origin(below)
			} else {
				value.LineComment = w.origin(below)
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below := append(slices.Clone(path), strconv.Itoa(i))
			if w.origins(item, below); len(item.Content) == 0 {
				item.LineComment = w.origin(below)
			}
		}
	}
}

// origin names the layers that a value comes from.
func (w *writer) origin(path []string) string {
	var names []string
	for _, o := range templates.Origins(w.layers, path) {
		name := o.Layer
		if o.Node != nil {
			name += ", " + o.Node.Pos()
		}
		name += madeBy(o)
		names = append(names, name)
	}
	return strings.Join(names, "; ")
}

// madeBy returns the source of an expression's result: the expression or, if that is long, its inputs. The data has
// each of those too, with its own place and expression.
func madeBy(o templates.Origin) string {
	if o.Expression == "" {
		return ""
	}
	if text := o.Shown(longestExpression); text != "" {
		return " " + text
	}
	paths, all := o.Reads.Data()
	if all {
		return ", made of all data"
	}
	var from []string
	for _, path := range paths {
		from = append(from, "Data."+path)
	}
	paths, all = o.Reads.Facts()
	if all {
		from = append(from, "all facts")
	}
	for _, path := range paths {
		from = append(from, "Facts."+path)
	}
	if len(from) == 0 {
		return ""
	}
	return ", made of " + strings.Join(from, ", ")
}

// resource writes one resource of the catalog.
func (w *writer) resource(all []RenderedResource, i int) *yaml.Node {
	r := all[i]
	body := w.mapping()
	w.put(body, "name", w.plain(r.Entry.Name), w.at(r.Resource.Name.Node, r.Resource.Name.Node))
	if r.Entry.Alias != "" {
		w.put(body, "alias", w.plain(r.Entry.Alias), "")
	}
	w.references(body, "require", all, r.Entry.Require)
	w.references(body, "subscribe", all, r.Entry.Subscribe)
	w.references(body, "before", all, r.Before)
	w.references(body, "notify", all, r.Notify)
	w.own(body, r)
	w.engine(body, all, r)
	if r.Entry.Check {
		w.put(body, "noop", w.plain(true), "")
	}
	if r.Entry.Sensitive {
		w.put(body, "sensitive", w.plain(true), "")
	}
	comment := ""
	switch {
	case r.Entry.Excluded:
		comment = "excluded by control"
		never := w.mapping()
		w.put(never, "if", w.plain("false"), "")
		w.put(body, "control", never, "")
	case len(r.Awaits) > 0:
		comment = "known once " + strings.Join(r.Awaits, ", ") + " has run"
	case r.Entry.Sensitive && !w.secrets:
		comment = "sensitive: the properties are hidden"
	default:
		w.properties(body, r)
		w.health(body, r.Entry.Health)
	}
	if r.Nested != nil && r.Entry.Scope.Entries > 0 {
		comment = strings.TrimPrefix(comment+"; "+r.Nested.before(r.Entry.Scope.Entries), "; ")
	}
	if part := r.Resource.Part(); part != "" {
		comment = strings.TrimSuffix("in "+part+"; "+comment, "; ")
	}
	entry := w.mapping()
	w.put(entry, r.Entry.Type, body, comment)
	return entry
}

// own writes the data whose values differ from the values around a resource, with their origins.
func (w *writer) own(body *yaml.Node, r RenderedResource) {
	if len(r.Own) == 0 {
		return
	}
	values := map[string]any{}
	for _, key := range r.Own {
		if value, there := r.Env.Data[key]; there {
			values[key] = value
		}
	}
	inner := &writer{layers: r.Layers, explain: w.explain, secrets: w.secrets}
	w.put(body, "vars", inner.data(w.redacted(r.Secrets, values)), "")
	w.err = cmp.Or(w.err, inner.err)
}

func (w *writer) references(body *yaml.Node, key string, all []RenderedResource, indexes []int) {
	var names []string
	for _, i := range indexes {
		if ref := all[i].Entry.Ref(); !slices.Contains(names, ref) {
			names = append(names, ref)
		}
	}
	if len(names) > 0 {
		w.put(body, key, w.plain(names), "")
	}
}

// engine writes how the engine treats a resource, and the values that it receives.
func (w *writer) engine(body *yaml.Node, all []RenderedResource, r RenderedResource) {
	e := r.Entry
	recv := w.mapping()
	for _, one := range e.Receive {
		if one.From >= 0 {
			w.put(recv, one.Property, w.plain(all[one.From].Entry.Ref()+"."+one.Key), "")
		}
	}
	for _, one := range r.Resource.Imports {
		w.put(recv, one.Property, w.plain(map[string]string{"host": one.Host.Text, "from": one.From.Text}), "")
	}
	for _, one := range []struct {
		key   string
		given bool
		value any
	}{
		{"on", e.On != "", e.On},
		{"once", e.Once, true},
		{"export", len(e.Export) > 0, e.Export},
		{"retry", e.Retry > 0, e.Retry},
		{"rerun", e.Rerun, true},
		{"delay", e.Delay > 0, e.Delay.String()},
		{"timeout", e.Timeout > 0, e.Timeout.String()},
		{"limit", e.Limit > 0, e.Limit},
		{"sema", len(e.Sema) > 0, e.Sema},
		{"hidden", e.Hidden, true},
		{"reverse", e.Reverse, true},
		{"history", e.NoHistory, false},
		{"confirm", e.Confirm != "", e.Confirm},
	} {
		if one.given {
			w.put(body, one.key, w.plain(one.value), "")
		}
	}
	if r.Watch != nil {
		w.put(body, "watch", w.watch(r.Watch, w.ofPlay), w.at(r.Resource.Watch(), r.Resource.Watch()))
	}
	if len(recv.Content) > 0 {
		w.put(body, "recv", recv, "")
	}
}

// properties writes what the resource was given, and its defaults.
func (w *writer) properties(body *yaml.Node, r RenderedResource) {
	if r.Nested != nil {
		w.nested(body, r)
		return
	}
	given, err := r.given(w.secrets)
	w.err = cmp.Or(w.err, err)
	for _, p := range given {
		comment := "default"
		if p.At != nil {
			comment = strings.TrimSpace(p.At.Pos() + " " + p.Expression(longestExpression))
		}
		w.put(body, p.Name, w.plain(p.Value), w.comment(comment))
	}
}

// before describes which of the resources before its own belong to the manifest.
func (n *Nested) before(count int) string {
	if count == 1 {
		return "the resource before it is from " + n.Manifest
	}
	return fmt.Sprintf("the %d resources before it are from %s", count, n.Manifest)
}

// nested writes a resource's settings for the manifest that it applies, and that manifest's data.
func (w *writer) nested(body *yaml.Node, r RenderedResource) {
	for _, f := range modules.Fields(r.Resource.Type.New()) {
		given, written := property(r, f)
		switch {
		case f.Name == "name":
		case f.Type.Kind() == reflect.Map:
			inner := &writer{layers: r.Nested.Layers, explain: w.explain, secrets: w.secrets}
			w.put(body, f.Name, inner.data(w.redacted(r.Nested.Secrets, r.Nested.Data)), "")
			w.err = cmp.Or(w.err, inner.err)
		case given != nil && given.Any() != nil:
			w.put(body, f.Name, w.plain(asProperty(given, f.Type)), w.at(given, written))
		}
	}
}

// at returns the place of a value and, if it is short, the expression with that result.
func (w *writer) at(n, written *yamlpos.Node) string {
	p := GivenProperty{At: n, Written: written}
	return w.comment(strings.TrimSpace(n.Pos() + " " + p.Expression(longestExpression)))
}

func (w *writer) comment(text string) string {
	if !w.explain {
		return ""
	}
	return text
}

// health writes the health checks of a resource, with their defaults.
func (w *writer) health(body *yaml.Node, checks []wire.HealthCheck) {
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
			if !w.secrets {
				rules = goss.Shown(rules)
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

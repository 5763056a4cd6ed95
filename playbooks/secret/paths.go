package secret

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Shown replaces a secret.
const Shown = "[secret]"

// anyKey in a path is every element of a list. It matches every key: what one layer has as a
// list can be a map in another.
const anyKey = "*"

// Paths are the places of secrets in data, of any layer: a value of another layer that replaces a secret counts as one,
// too. The zero Paths have none.
type Paths struct{ list [][]string }

// Everything are the paths of a value that is secret as a whole.
func Everything() Paths { return Paths{[][]string{{}}} }

// None reports whether there are no secrets.
func (p Paths) None() bool { return len(p.list) == 0 }

// Add adds more paths, below keys.
func (p *Paths) Add(more Paths, keys ...string) {
	for _, path := range more.list {
		p.add(slices.Concat(keys, path))
	}
}

// Marked adds the scalars below n that are marked as secret, and those for which isSecret, which may be nil, returns
// true.
func (p *Paths) Marked(n *yamlpos.Node, isSecret func(*yamlpos.Node) bool) {
	p.marked(n, isSecret, nil)
}

func (p *Paths) marked(n *yamlpos.Node, isSecret func(*yamlpos.Node) bool, path []string) {
	if n == nil || isSecret == nil && !n.Secret {
		return
	}
	for _, item := range n.Items {
		p.marked(item, isSecret, append(slices.Clip(path), anyKey))
	}
	for _, pair := range n.Pairs {
		if isSecret != nil && isSecret(pair.Key) {
			p.add(path)
		}
		p.marked(pair.Value, isSecret, append(slices.Clip(path), pair.Key.Text))
	}
	if n.Kind == yamlpos.Scalar && (n.Secret || isSecret != nil && isSecret(n)) {
		p.add(path)
	}
}

// add adds a path up to a key with a dot in it, which would look like two keys in lists of reads.
func (p *Paths) add(path []string) {
	if i := slices.IndexFunc(path, func(key string) bool { return strings.Contains(key, ".") }); i >= 0 {
		path = path[:i]
	}
	if !slices.ContainsFunc(p.list, func(known []string) bool { return slices.Equal(known, path) }) {
		p.list = append(p.list, path)
	}
}

// Below returns the paths within the value at keys. The value is secret as a whole if a value above it is.
func (p Paths) Below(keys ...string) (below Paths) {
	for _, path := range p.list {
		if n := min(len(path), len(keys)); matches(path[:n], keys[:n]) {
			below.add(path[n:])
		}
	}
	return below
}

// Element are the paths of the elements of a list.
func (p Paths) Element() (below Paths) {
	for _, path := range p.list {
		below.add(path[min(1, len(path)):])
	}
	return below
}

// ReadBy reports whether reading the paths, whose keys are separated by dots, reads a secret: at, above or below one of
// them. With all, the whole data is read.
func (p Paths) ReadBy(paths []string, all bool) bool {
	if all {
		return !p.None()
	}
	return !p.None() && slices.ContainsFunc(paths, func(read string) bool { return !p.Below(strings.Split(read, ".")...).None() })
}

func matches(path, keys []string) bool {
	for i, key := range path {
		if key != anyKey && key != keys[i] {
			return false
		}
	}
	return true
}

// Redacted is v, a plain value, with [Shown] in the place of the secrets in it. v is not
// changed.
func (p Paths) Redacted(v any) any {
	if p.None() {
		return v
	}
	if p.whole() {
		return Shown
	}
	switch v := v.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key, value := range v {
			shown[key] = p.Below(key).Redacted(value)
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, value := range v {
			shown[i] = p.Element().Redacted(value)
		}
		return shown
	}
	return v
}

// Whole reports whether all is secret that keys lead to.
func (p Paths) Whole(keys []string) bool {
	for i, key := range keys {
		if strings.Contains(key, ".") { // a path ends there
			keys = keys[:i]
			break
		}
	}
	return p.Below(keys...).whole()
}

// whole reports whether the value itself is secret.
func (p Paths) whole() bool {
	return slices.ContainsFunc(p.list, func(path []string) bool { return len(path) == 0 })
}

// Each visits the texts of the secrets in v, a plain value.
func (p Paths) Each(v any, visit func(text string)) {
	if p.None() {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			p.Below(key).Each(value, visit)
		}
	case []any:
		for _, value := range v {
			p.Element().Each(value, visit)
		}
	default:
		if text, err := render.TextOf(v); err == nil && p.whole() {
			visit(text)
		}
	}
}

package templates

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A Layer is data of one origin, resolved for one host.
type Layer struct {
	Name   string         // as people know it: "data", "group web", "-e"
	Values map[string]any // plain values, see [Env]
	Node   *yamlpos.Node  // position of the values; nil if they are not in a file
	Deep   bool           // merged by [DeepMerge]; otherwise its keys replace those below whole
	From   []Layer        // the layers that Values were merged from; nil if Node has all of them

	pending bool // there are expressions in Values, which [NewScope] evaluates
	item    bool // some of them name the element of an each
}

// EachExpression visits the expressions in the values of a layer, with their paths of keys and list indexes, and their
// inputs.
func (l Layer) EachExpression(visit func(path []string, reads Inputs)) {
	if len(l.From) > 0 {
		for _, from := range l.From {
			from.EachExpression(visit)
		}
		return
	}
	if l.pending {
		eachExpression(l.Values, nil, visit)
	}
}

func eachExpression(v any, path []string, visit func(path []string, reads Inputs)) {
	switch v := v.(type) {
	case *deferred:
		visit(path, v.text.Reads().WithoutFiles())
	case map[string]any:
		for _, key := range render.SortedKeys(v) {
			eachExpression(v[key], append(slices.Clip(path), key), visit)
		}
	case []any:
		for _, item := range v { // lists are joined, so an index may change
			eachExpression(item, append(slices.Clip(path), "*"), visit)
		}
	}
}

// Merge merges layers, lowest first. The map is new; values that were not merged are shared with the layers.
// Expressions among the values are not evaluated: see [Settle].
func Merge(layers []Layer) map[string]any {
	data := map[string]any{}
	for _, l := range layers {
		if l.Deep {
			data = DeepMerge(data, l.Values)
		} else {
			maps.Copy(data, l.Values)
		}
	}
	return data
}

// Without returns the layer without some keys.
func (l Layer) Without(keys map[string]bool) Layer {
	values := maps.Clone(l.Values)
	maps.DeleteFunc(values, func(key string, _ any) bool { return keys[key] })
	l.Values = values
	return l
}

// Stack makes one layer of several that belong together: [DeepMerge] puts it over others as a whole. [Origins] still
// distinguishes the layers, with name as a prefix of their names.
func Stack(name string, layers []Layer) Layer {
	from := slices.Clone(layers)
	for i := range from {
		from[i].Name = name + " " + from[i].Name
	}
	pending := slices.ContainsFunc(layers, func(l Layer) bool { return l.pending })
	item := slices.ContainsFunc(layers, func(l Layer) bool { return l.item })
	return Layer{Name: name, Values: Merge(layers), Deep: true, From: from, pending: pending, item: item}
}

// DeepMerge merges over into base: maps are merged key by key, lists are concatenated with the elements of base first,
// and any other value of over replaces the value in base, null and values of another type too. Neither is changed; the
// result shares values that were not merged.
func DeepMerge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, value := range over {
		merged[key] = mergeValue(merged[key], value)
	}
	return merged
}

func mergeValue(base, over any) any {
	_, pendingBase := base.(render.Pending)
	switch over := over.(type) {
	case render.Pending:
		if pendingBase || isContainer(base) {
			return &joint{base: base, over: over}
		}
	case map[string]any:
		if base, ok := base.(map[string]any); ok {
			return DeepMerge(base, over)
		}
		if pendingBase {
			return &joint{base: base, over: over}
		}
	case []any:
		if base, ok := base.([]any); ok {
			list := make([]any, 0, len(base)+len(over))
			return append(append(list, base...), over...)
		}
		if pendingBase {
			return &joint{base: base, over: over}
		}
	}
	return over
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// An Origin is where a value comes from.
type Origin struct {
	Layer string
	Node  *yamlpos.Node // nil if it is not in a file
	// Expression is the text with the expressions that produced the value, or that contain it; "" if there was none.
	Expression string
	Reads      Inputs // inputs of the expression
}

// Shown returns the expression in a form that can be printed after its value: see [ShownExpression].
func (o Origin) Shown(longest int) string { return ShownExpression(o.Expression, longest) }

// ShownExpression returns a text with expressions if it can be printed after its value. It returns "" if the text has
// several lines, is longer than longest bytes, or contains values whose expressions are not known.
func ShownExpression(text string, longest int) string {
	var none *Marked
	if len(text) > longest || strings.Contains(text, "\n") || none.Show(text) != text {
		return ""
	}
	return text
}

// Origins lists the layers that set the value at a path of [Merge]'s result: keys, and
// indexes of lists. A list that was concatenated and a map that was merged can have
// several, low to high. A value that an expression gave has the position of the
// expression. The list is empty if there is no such value.
func Origins(layers []Layer, path []string) []Origin {
	var found []claim
	if len(path) == 0 {
		found = whole(layers)
	} else {
		found = topClaims(layers, path[0])
		for _, key := range path[1:] {
			found = claimsBelow(found, key)
		}
	}
	origins := make([]Origin, len(found))
	for i, c := range found {
		origins[i] = Origin{Layer: c.layer, Node: c.node}
		if c.made != nil {
			origins[i].Expression, origins[i].Reads = c.made.node.Text, c.made.text.Reads().WithoutFiles()
		}
	}
	return origins
}

// WrittenAt returns, for errors, the positions of the values at paths of [Merge]'s result: " (value of the variable port, set
// at groups/web.yaml:3:5)". Values that are not in a file are omitted.
func WrittenAt(layers []Layer, paths ...string) string {
	var values []string
	for _, path := range paths {
		origins := Origins(layers, strings.Split(path, "."))
		if len(origins) == 0 {
			continue
		}
		if last := origins[len(origins)-1]; last.Node != nil {
			values = append(values, `value of the variable "`+path+`", set at `+last.Node.Pos())
		}
	}
	if len(values) == 0 {
		return ""
	}
	return " (" + strings.Join(values, "; ") + ")"
}

// A claim is the value of a layer at some path. The claims on one path are in the order of their layers, lowest first.
// Several claims are all maps or all lists.
type claim struct {
	layer string
	value any
	node  *yamlpos.Node
	made  *deferred     // expression that produced the value; nil for a literal
	order *render.Order // order of the keys in the result of made
}

// newClaim returns a claim on a value; an expression is replaced by its result.
func newClaim(layer string, value any, node *yamlpos.Node, made *deferred, order *render.Order) claim {
	if d, is := value.(*deferred); is {
		value, order = d.value, d.order
		if d.sealed() == nil { // the text of a sealed value is useless
			made = d
		}
	}
	return claim{layer, value, node, made, order}
}

// KeyOrder returns the keys of a map in the data, in the order of the files and expressions that they are from. A map that was
// merged has the keys of the lowest layer first.
func (s *Scope) KeyOrder(path []string) (keys []string) {
	if len(path) == 0 {
		return nil
	}
	found := topClaims(s.layers, path[0])
	for _, key := range path[1:] {
		found = claimsBelow(found, key)
	}
	for _, c := range found {
		value, isMap := c.value.(map[string]any)
		switch {
		case !isMap:
		case c.made == nil:
			keys = append(keys, render.OrderedKeys(value, nodeKeys(c.node))...)
		default:
			keys = append(keys, render.OrderedKeys(value, c.order.Keys(nil))...)
		}
	}
	return keys
}

// nodeKeys returns the keys of a map, in order.
func nodeKeys(n *yamlpos.Node) (keys []string) {
	if n == nil {
		return nil
	}
	for _, pair := range n.Pairs {
		keys = append(keys, pair.Key.Text)
	}
	return keys
}

// NodeOrder returns the order of the keys in a value of a file.
func NodeOrder(n *yamlpos.Node) render.KeyOrder {
	return func(path []string) []string {
		at := n
		for _, key := range path {
			below := nodeBelow(at, key)
			if below == at { // an expression, or no such value
				return nil
			}
			at = below
		}
		return nodeKeys(at)
	}
}

func whole(layers []Layer) []claim {
	var all []claim
	for _, l := range layers {
		if len(l.From) > 0 {
			all = append(all, whole(l.From)...)
		} else {
			all = append(all, claim{layer: l.Name, node: l.Node})
		}
	}
	return all
}

// topClaims returns the claims on a key of the merged data.
func topClaims(layers []Layer, key string) []claim {
	var found []claim
	for _, l := range layers {
		value, has := l.Values[key]
		if !has {
			continue
		}
		over := []claim{newClaim(l.Name, value, nodeBelow(l.Node, key), nil, nil)}
		if len(l.From) > 0 {
			over = topClaims(l.From, key)
		}
		found = laidOver(found, over, l.Deep)
	}
	return found
}

// claimsBelow returns the claims on the value at a key or an index of a value.
func claimsBelow(claims []claim, key string) []claim {
	var found []claim
	skip, err := strconv.Atoi(key) // skips elements up to the index
	for _, c := range claims {
		switch value := c.value.(type) {
		case map[string]any:
			if v, has := value[key]; has {
				found = laidOver(found, []claim{newClaim(c.layer, v, nodeBelow(c.node, key), c.made, c.order.At(key))}, true)
			}
		case []any:
			if err == nil && skip >= 0 && skip < len(value) {
				return []claim{newClaim(c.layer, value[skip], nodeBelow(c.node, strconv.Itoa(skip)), c.made, c.order.At(strconv.Itoa(skip)))}
			}
			skip -= len(value)
		}
	}
	return found
}

// laidOver merges claims as [DeepMerge] does values, or replaces them.
func laidOver(found, over []claim, deep bool) []claim {
	if deep && len(found) > 0 && len(over) > 0 && mergeable(found[0].value, over[0].value) {
		return append(found, over...)
	}
	return over
}

func mergeable(a, b any) bool {
	switch a.(type) {
	case map[string]any:
		_, same := b.(map[string]any)
		return same
	case []any:
		_, same := b.([]any)
		return same
	}
	return false
}

// nodeBelow returns the node of a key or an index. Below the result of an expression it returns the node of the
// expression.
func nodeBelow(n *yamlpos.Node, key string) *yamlpos.Node {
	if n == nil {
		return nil
	}
	if value := n.Get(key); value != nil {
		return value
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i]
	}
	return n
}

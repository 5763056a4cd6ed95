package yamlpos

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the shape of a node.
type Kind int

// The shapes. The zero Kind is a scalar.
const (
	Scalar Kind = iota
	List
	Map
)

// A Node is one value and its position. A tree is not changed once it is built: nodes are shared, by aliases among
// others.
type Node struct {
	File         string
	Line, Column int // from 1; the column counts characters

	Kind Kind
	Text string // source of a scalar after YAML unquoting ("0644", "yes", "1.50")
	// Value, of scalars, is nil, bool, int64, float64 or string, as yaml.v3
	// resolves the YAML 1.2 core schema. Timestamps stay text, and integers too
	// large for an int64 become a float64.
	Value    any
	Quoted   bool // in quotes, as a block, or tagged !!str: text whatever it looks like
	Plain    bool // a text with the tag of [PlainTag], or within a value that has it: it is never evaluated
	Computed bool // made by [From]: the result of an expression, not written in the file
	// Sealed opens a scalar whose Text and Value are encrypted, or that a program prints; nil for any other. See
	// [KeepSealed].
	Sealed *Sealed
	// Secret marks a scalar with the tag !secret, a scalar in a list or map with that tag, a sealed scalar, and any
	// scalar in a file that is encrypted as a whole. On a list or map it reports that it contains such a scalar. See
	// [Secrets].
	Secret bool
	// Comment has the YAML comments above the node and on its line, without the leading # and blank, lines joined by
	// newlines. It is set on the items of lists and, for maps, on the keys.
	Comment string
	// Stray are YAML comments near the node that belong to no node: above it with a blank
	// line between, or below it. Paragraphs are separated by blank lines.
	Stray string

	Items []*Node // of lists
	Pairs []Pair  // entries of a map: in file order, merge keys applied, keys unique
}

// A Pair is one entry of a map. Key is always a scalar; two keys are the same
// if their texts are.
type Pair struct{ Key, Value *Node }

// Get returns the value of a key, or nil if n is not a map or lacks the key.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Text == key {
			return p.Value
		}
	}
	return nil
}

// IsNull reports whether n is null; n itself may be nil.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Scalar && n.Value == nil }

// Without returns n, a map, without the entries for whose keys drop reports true. It returns n itself if there are
// none.
func (n *Node) Without(drop func(key string) bool) *Node {
	isOut := func(p Pair) bool { return drop(p.Key.Text) }
	if !slices.ContainsFunc(n.Pairs, isOut) {
		return n
	}
	rest := *n
	rest.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), isOut)
	return &rest
}

// Any returns the plain value: map[string]any, []any or a scalar's Value. Maps and lists are new each time.
func (n *Node) Any() any {
	return n.plain(func(n *Node) any { return n.Value })
}

// plain returns the plain value; scalar returns the value of each scalar.
func (n *Node) plain(scalar func(*Node) any) any {
	switch n.Kind {
	case Map:
		m := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			m[p.Key.Text] = p.Value.plain(scalar)
		}
		return m
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.plain(scalar)
		}
		return list
	default:
		return scalar(n)
	}
}

// Pos returns "file:line:column".
func (n *Node) Pos() string { return position(n.File, n.Line, n.Column) }

// Errorf makes an error with the position of n. The hint suggests what to write instead and may be empty.
func (n *Node) Errorf(hint, format string, args ...any) *Error {
	return &Error{File: n.File, Line: n.Line, Column: n.Column, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// Map returns a copy in which f has replaced every scalar value; keys are not replaced. Subtrees that f does not change
// are shared with n. All errors of f are collected, as [Errors].
func (n *Node) Map(f func(*Node) (*Node, error)) (*Node, error) {
	var errs Errors
	mapped := n.mapped(f, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return mapped, nil
}

func (n *Node) mapped(f func(*Node) (*Node, error), errs *Errors) *Node {
	switch n.Kind {
	case Map:
		return n.mapPairs(f, errs)
	case List:
		return n.mapItems(f, errs)
	}
	replaced, err := f(n)
	if err != nil {
		errs.Add(err)
		return n
	}
	return replaced
}

func (n *Node) mapPairs(f func(*Node) (*Node, error), errs *Errors) *Node {
	var pairs []Pair // allocated with the first change
	for i, p := range n.Pairs {
		value := p.Value.mapped(f, errs)
		if pairs == nil && value != p.Value {
			pairs = append(make([]Pair, 0, len(n.Pairs)), n.Pairs[:i]...)
		}
		if pairs != nil {
			pairs = append(pairs, Pair{p.Key, value})
		}
	}
	if pairs == nil {
		return n
	}
	changed := *n
	changed.Pairs = pairs
	return &changed
}

func (n *Node) mapItems(f func(*Node) (*Node, error), errs *Errors) *Node {
	var items []*Node // allocated with the first change
	for i, item := range n.Items {
		value := item.mapped(f, errs)
		if items == nil && value != item {
			items = append(make([]*Node, 0, len(n.Items)), n.Items[:i]...)
		}
		if items != nil {
			items = append(items, value)
		}
	}
	if items == nil {
		return n
	}
	changed := *n
	changed.Items = items
	return &changed
}

// IsTemplate reports whether n is a text that Ansible would evaluate.
func IsTemplate(n *Node) bool {
	return n.Kind == Scalar && !n.Plain && n.Sealed == nil && (strings.Contains(n.Text, "{{") || strings.Contains(n.Text, "{%"))
}

// Shown returns n with text instead of every secret scalar. Values encrypted by ansible-vault are shown encrypted, as
// other tools read them.
func (n *Node) Shown(text string) *Node {
	if !n.Secret {
		return n
	}
	shown, _ := n.Map(func(one *Node) (*Node, error) { // which never fails
		if one.Secret && (one.Sealed == nil || !isVault(one.Sealed.Tag)) {
			one = &Node{File: one.File, Line: one.Line, Column: one.Column, Text: text, Value: text, Quoted: true, Comment: one.Comment}
		}
		return one, nil
	})
	return shown
}

// Under returns a map in which n has a key, so that errors about n begin with the key.
func Under(key string, n *Node) *Node {
	name := &Node{File: n.File, Line: n.Line, Column: n.Column, Text: key, Value: key}
	return &Node{File: n.File, Line: n.Line, Column: n.Column, Kind: Map, Pairs: []Pair{{name, n}}}
}

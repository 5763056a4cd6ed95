package templates

import (
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/jinja"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Variables are the expressions in the variables of an inventory, in Ansible's language; see
// package jinja. nil has none.
type Variables struct {
	texts  map[*yamlpos.Node]written
	source Source // all of them, as if they lay over each other
	known  *textInputs
}

// ParseVariables reads the expressions in all maps of variables. An unsupported expression is an error where it is
// used.
func ParseVariables(maps []*yamlpos.Node) *Variables {
	v := &Variables{texts: map[*yamlpos.Node]written{}, known: &textInputs{}}
	for _, n := range maps {
		v.parse(n)
		v.source.files = append(v.source.files, document{node: n, texts: v.texts})
	}
	return v
}

func (v *Variables) parse(n *yamlpos.Node) {
	for _, item := range n.Items {
		v.parse(item)
	}
	for _, pair := range n.Pairs {
		v.parse(pair.Value)
	}
	if v.texts[n] != nil || n.Sealed == nil && !yamlpos.IsTemplate(n) {
		return
	}
	switch {
	case n.CanOpen():
		v.texts[n] = sealedText{n}
		return
	case n.Sealed != nil:
		v.texts[n] = unknown{n.EncryptedErrorf("the variable is encrypted by ansible-vault")}
		return
	}
	text, err := jinja.ParseText(n.Text, diag.PositionOf(n))
	if err != nil {
		v.texts[n] = unknown{NotUnderstood(n, "", diag.Message(err))}
		return
	}
	v.texts[n] = text
}

// notSupported precedes the reason in the message of [NotUnderstood].
const notSupported = "does not support: "

// NotUnderstood returns the error for a variable with an expression that only Ansible supports.
func NotUnderstood(n *yamlpos.Node, path, what string) *yamlpos.Error {
	if path != "" {
		path = " " + strconv.Quote(path)
	}
	return n.Errorf("write the value itself; for literal text, write !unsafe '…' in YAML",
		"the variable%s is an Ansible expression that ccm-push "+notSupported+"%s", path, what)
}

// Why returns why the text of a scalar is not supported; "" if it is, or if it is not an expression.
func (v *Variables) Why(n *yamlpos.Node) string {
	if v == nil {
		return ""
	}
	if u, is := v.texts[n].(unknown); is {
		_, what, _ := strings.Cut(u.err.Msg, notSupported)
		return what
	}
	return ""
}

// Understood reports whether the text of a scalar is an expression that is evaluated.
func (v *Variables) Understood(n *yamlpos.Node) bool {
	if v == nil || v.texts[n] == nil {
		return false
	}
	_, is := v.texts[n].(unknown)
	return !is
}

// Sources returns the variables for [KeysFromHost].
func (v *Variables) Sources() []Source {
	if v == nil {
		return nil
	}
	return []Source{v.source}
}

// Layer returns a layer of variables with its expressions, for [Settle]. Errors in a variable that is not read are
// ignored: it stays a text.
func (v *Variables) Layer(l Layer, read func(path string) bool) Layer {
	if v == nil || l.Node == nil || !v.in(l.Node) {
		return l
	}
	d := document{node: l.Node, texts: v.texts, known: v.known, unread: func(path string) bool { return !read(path) }}
	l.Values, l.pending = d.value(l.Node, "").(map[string]any), true
	return l
}

func (v *Variables) in(n *yamlpos.Node) bool {
	if v.texts[n] != nil {
		return true
	}
	for _, item := range n.Items {
		if v.in(item) {
			return true
		}
	}
	for _, pair := range n.Pairs {
		if v.in(pair.Value) {
			return true
		}
	}
	return false
}

// Follow adds to inputs what the variables that they can read can read in turn.
func (v *Variables) Follow(in *Inputs) {
	if v == nil {
		return
	}
	followed := map[*yamlpos.Node]bool{}
	for more := true; more; {
		more = false
		for _, d := range v.source.files {
			d.each(d.node, "", func(path string, n *yamlpos.Node) {
				if text := v.texts[n]; text != nil && !followed[n] && in.ReadsData(path) {
					followed[n], more = true, true
					in.Add(text.Reads().WithoutFiles())
				}
			})
		}
	}
}

// each visits the scalars of a document, with the path by which they are read.
func (d document) each(n *yamlpos.Node, path string, visit func(path string, n *yamlpos.Node)) {
	for _, item := range n.Items {
		d.each(item, path, visit)
	}
	for _, pair := range n.Pairs {
		d.each(pair.Value, readPath(path, pair.Key.Text), visit)
	}
	if n.Kind == yamlpos.Scalar {
		visit(path, n)
	}
}

// readPath returns the path of a key as [Inputs.ReadsData] knows it: a key with a dot has the path of its map.
func readPath(path, key string) string {
	if strings.Contains(key, ".") {
		return path
	}
	return strings.TrimPrefix(path+"."+key, ".")
}

// An unknown is a text that cannot be evaluated: to need it is the error.
type unknown struct{ err *yamlpos.Error }

func (u unknown) Settle(*render.Run) (any, error) {
	return nil, &diag.Error{File: u.err.File, Line: u.err.Line, Column: u.err.Column, Msg: u.err.Msg, Hint: u.err.Hint}
}

func (unknown) Reads() *render.Reads       { return &render.Reads{} }
func (unknown) FromHost(render.Taint) bool { return false }

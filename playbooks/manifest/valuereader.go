package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// A ValueReader makes values of the nodes of one file: it compiles the expressions in them, and refuses expressions in
// places that are read before a host is known.
type ValueReader struct {
	report *Report
	marked *templates.Marked                 // the file was written by this template; else nil
	known  map[*yamlpos.Node]*templates.Text // the expressions read so far
}

// NewValueReader returns the reader of the values of a file. marked marks the values that a template printed into the
// text: they count as expressions.
func NewValueReader(report *Report, marked *templates.Marked) *ValueReader {
	return &ValueReader{report: report, marked: marked, known: map[*yamlpos.Node]*templates.Text{}}
}

// Generated reports whether a template has written the file.
func (vr *ValueReader) Generated() bool { return vr.marked != nil }

// IsOpen reports whether a scalar holds an expression or, in a file that a template has
// written, a value.
func (vr *ValueReader) IsOpen(n *yamlpos.Node) bool {
	return templates.HasExpr(n.Text) || vr.marked.Has(n.Text)
}

// Value compiles the expressions in n.
func (vr *ValueReader) Value(n *yamlpos.Node) Value {
	v := Value{Node: n, texts: map[*yamlpos.Node]*templates.Text{}}
	vr.compile(n, v.texts)
	return v
}

// Optional is the value of a key in a map; nil if it is not given.
func (vr *ValueReader) Optional(n *yamlpos.Node, key string) *Value {
	field := keys.Given(n.Get(key))
	if field == nil {
		return nil
	}
	v := vr.Value(field)
	return &v
}

// Vars compiles the key vars of a resource; nil means none. Decoding reports a value that is not a map.
func (vr *ValueReader) Vars(r *Resource, n *yamlpos.Node) *templates.Source {
	vars := keys.Given(n.Get("vars"))
	if vars == nil || vars.Kind != yamlpos.Map || len(vars.Pairs) == 0 || !keys.Common(r.Type, "vars") {
		return nil
	}
	for _, pair := range vars.Pairs {
		vr.LiteralKey(pair.Key)
	}
	s, err := templates.ParseVars(vars, "vars of "+r.Ref(), vr.IsOpen, vr.parse)
	if vr.report.Add(err); err != nil {
		return nil
	}
	return &s
}

// WithKeys does the same as [ValueReader.Value], and the keys of maps in those parts of n may hold expressions too, at
// any depth.
func (vr *ValueReader) WithKeys(n *yamlpos.Node, parts ...*yamlpos.Node) Value {
	v := vr.Value(n)
	before := len(v.texts)
	for _, part := range parts {
		vr.compileKeys(part, v.texts)
	}
	v.keys = len(v.texts) > before
	return v
}

func (vr *ValueReader) compile(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		vr.compile(item, texts)
	}
	for _, pair := range n.Pairs {
		vr.compile(pair.Value, texts)
	}
	if n.Kind != yamlpos.Scalar || texts[n] != nil {
		return
	}
	if open := templates.Unclosed(n.Text); open != "" {
		vr.report.Warn(n, fmt.Sprintf(`this %s is not closed, so it stays text; close the expression, or write {{ "%[1]s" }}`, open))
	}
	if leftover := templates.LeftoverStatement(n.Text); leftover != "" {
		vr.report.Warn(n, leftover+`; to print {% itself, write {{ "{%" }}`)
	}
	if !vr.IsOpen(n) {
		return
	}
	text := vr.known[n] // of defaults, which many resources share
	if text == nil {
		var err error
		if text, err = vr.parse(n); err != nil {
			vr.report.Add(err)
			text = &templates.Text{} // still an expression: there is no literal to check
		}
		vr.known[n] = text
	}
	texts[n] = text
}

func (vr *ValueReader) parse(n *yamlpos.Node) (*templates.Text, error) {
	if vr.marked != nil {
		return templates.ParseMarked(vr.marked, n.Text, templates.At(n), n.Quoted)
	}
	return templates.Parse(n.Text, templates.At(n))
}

func (vr *ValueReader) compileKeys(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		vr.compileKeys(item, texts)
	}
	for _, pair := range n.Pairs {
		vr.compile(pair.Key, texts)
		vr.compileKeys(pair.Value, texts)
	}
}

// Conditions compiles one expression without delimiters, or a list of them. It reports and omits wrong ones. key is the
// key that has them.
func (vr *ValueReader) Conditions(key string, n *yamlpos.Node) []*templates.Expr {
	switch {
	case n == nil:
		return nil
	case n.Kind != yamlpos.List:
		return vr.condition(nil, key, n)
	case len(n.Items) == 0:
		vr.report.Add(n.Errorf(`write a comparison, such as Data.x == "y", or remove the key`, "%q is empty", key))
	}
	var all []*templates.Expr
	for i, item := range n.Items {
		all = vr.condition(all, fmt.Sprintf("%s[%d]", key, i), item)
	}
	return all
}

// condition appends one of the [ValueReader.Conditions].
func (vr *ValueReader) condition(all []*templates.Expr, key string, n *yamlpos.Node) []*templates.Expr {
	if n.Kind != yamlpos.Scalar {
		vr.report.Add(n.Errorf(`write a comparison, such as Data.x == "y", or a list of them`, "%q must be an expression, not %s", key, n.Describe()))
		return all
	}
	text := strings.TrimSpace(n.Text)
	switch _, isText := n.Value.(string); {
	case text == "":
		vr.report.Add(n.Errorf(`write a comparison, such as Data.x == "y", or remove the key`, "%q is empty", key))
		return all
	case vr.marked.Has(text):
		vr.report.Add(n.Errorf("use Data or Facts in the expression itself, such as Facts.x == 'y'", "a printed value cannot be part of %q", key))
		return all
	case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "${"):
		vr.report.Add(n.Errorf(`write it bare: if: Data.role == "web"`, "%q is an expression already, without delimiters", key))
		return all
	case !isText && text != "true" && text != "false":
		vr.report.Add(n.Errorf(`write a comparison, such as Data.x == "y"`, "%q must be true or false, not %s", key, n.Describe()))
		return all
	}
	e, err := templates.ParseExpr(n.Text, templates.At(n))
	if err == nil {
		err = e.CheckBool()
	}
	vr.report.Add(err)
	if e == nil {
		return all
	}
	return append(all, e)
}

// LiteralKey reports a key that a template has printed a value into.
func (vr *ValueReader) LiteralKey(key *yamlpos.Node) bool {
	if !vr.marked.Has(key.Text) {
		return true
	}
	vr.report.Add(key.Errorf("a template can print resource names and values of properties; write keys and types as literals",
		"a printed value cannot be the key %q", strings.TrimSpace(vr.marked.Show(key.Text))))
	return false
}

// LiteralText returns a scalar that is read while no host is known, so that it cannot hold expressions; nil if it is
// invalid.
func (vr *ValueReader) LiteralText(key string, n *yamlpos.Node) *yamlpos.Node {
	switch {
	case n.Kind != yamlpos.Scalar: // which decoding has reported
		return nil
	case vr.IsOpen(n):
		vr.report.Add(n.Errorf("write a fixed value without an expression, because ccm-push reads this key before any host is known",
			"%s cannot be an expression", subject(key)))
		return nil
	}
	return n
}

// subject returns a key in quotes. Text of several words describes a key, and stays unchanged.
func subject(key string) string {
	if strings.Contains(key, " ") {
		return key
	}
	return strconv.Quote(key)
}

// LiteralTags refuses expressions in tags, which are looked at before any host is.
func (vr *ValueReader) LiteralTags(tags *yamlpos.Node) {
	if tags == nil {
		return
	}
	for _, item := range append([]*yamlpos.Node{tags}, tags.Items...) {
		if vr.IsOpen(item) {
			vr.report.Add(item.Errorf("write a fixed tag; to select resources by host, write control: {if: EXPRESSION}", "a tag cannot be an expression"))
		}
	}
}

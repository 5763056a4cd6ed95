package manifest

import (
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// A Compiler makes values of the nodes of one file, and refuses expressions where no
// host is known yet.
type Compiler struct {
	report *Report
	marked *templates.Marked                 // the file was written by this template; else nil
	known  map[*yamlpos.Node]*templates.Text // the expressions read so far
}

// NewCompiler makes the compiler of a file. What a template has written is marked with
// the values that it printed: they count as expressions.
func NewCompiler(report *Report, marked *templates.Marked) *Compiler {
	return &Compiler{report: report, marked: marked, known: map[*yamlpos.Node]*templates.Text{}}
}

// Generated reports whether a template has written the file.
func (c *Compiler) Generated() bool { return c.marked != nil }

// IsOpen reports whether a scalar holds an expression or, in a file that a template has
// written, a value.
func (c *Compiler) IsOpen(n *yamlpos.Node) bool {
	return templates.HasExpr(n.Text) || c.marked.Has(n.Text)
}

// Value compiles the expressions in n.
func (c *Compiler) Value(n *yamlpos.Node) Value {
	v := Value{Node: n, texts: map[*yamlpos.Node]*templates.Text{}}
	c.compile(n, v.texts)
	return v
}

// Optional is the value of a key in a map; nil if it is not given.
func (c *Compiler) Optional(n *yamlpos.Node, key string) *Value {
	field := keys.Given(n.Get(key))
	if field == nil {
		return nil
	}
	v := c.Value(field)
	return &v
}

// WithKeys is [Compiler.Value] where the keys of maps may hold expressions too, at any
// depth of those parts of n.
func (c *Compiler) WithKeys(n *yamlpos.Node, parts ...*yamlpos.Node) Value {
	v := c.Value(n)
	before := len(v.texts)
	for _, part := range parts {
		c.compileKeys(part, v.texts)
	}
	v.keys = len(v.texts) > before
	return v
}

func (c *Compiler) compile(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		c.compile(item, texts)
	}
	for _, pair := range n.Pairs {
		c.compile(pair.Value, texts)
	}
	if n.Kind != yamlpos.Scalar || texts[n] != nil {
		return
	}
	if templates.Unclosed(n.Text) {
		c.report.Warn(n, "this {{ is not closed, so that it is text")
	}
	if leftover := templates.LeftoverStatement(n.Text); leftover != "" {
		c.report.Warn(n, leftover+`, or {{ "{%" }} for what is meant so`)
	}
	if !c.IsOpen(n) {
		return
	}
	text := c.known[n] // of defaults, which many resources share
	if text == nil {
		var err error
		if text, err = c.parse(n); err != nil {
			c.report.Add(err)
			text = &templates.Text{} // still an expression: there is no literal to check
		}
		c.known[n] = text
	}
	texts[n] = text
}

func (c *Compiler) parse(n *yamlpos.Node) (*templates.Text, error) {
	if c.marked != nil {
		return templates.ParseMarked(c.marked, n.Text, templates.At(n), n.Quoted)
	}
	return templates.Parse(n.Text, templates.At(n))
}

func (c *Compiler) compileKeys(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		c.compileKeys(item, texts)
	}
	for _, pair := range n.Pairs {
		c.compile(pair.Key, texts)
		c.compileKeys(pair.Value, texts)
	}
}

// Condition compiles an expression without delimiters; nil if there is none, or if it is
// wrong. key is where it stands.
func (c *Compiler) Condition(key string, n *yamlpos.Node) *templates.Expr {
	if n == nil || n.Kind != yamlpos.Scalar { // a wrong shape is reported by decoding
		return nil
	}
	text := strings.TrimSpace(n.Text)
	switch _, isText := n.Value.(string); {
	case text == "":
		c.report.Add(n.Errorf(`write a comparison, such as Data.x == "y", or leave it out`, "%s is empty", key))
		return nil
	case c.marked.Has(text):
		c.report.Add(n.Errorf("let the expression read Data or Facts itself", "a printed value cannot be part of %s", key))
		return nil
	case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "${"):
		c.report.Add(n.Errorf(`write it bare: if: Data.role == "web"`, "%s is an expression already, without delimiters", key))
		return nil
	case !isText && text != "true" && text != "false":
		c.report.Add(n.Errorf(`write a comparison, such as Data.x == "y"`, "%s must be true or false, not %s", key, n.Describe()))
		return nil
	}
	e, err := templates.ParseExpr(n.Text, templates.At(n))
	if err == nil {
		err = e.CheckBool()
	}
	c.report.Add(err)
	return e
}

// LiteralKey reports a key that a template has printed a value into.
func (c *Compiler) LiteralKey(key *yamlpos.Node) bool {
	if !c.marked.Has(key.Text) {
		return true
	}
	c.report.Add(key.Errorf("a template prints names and the values of properties; it writes the other keys itself",
		"a printed value cannot be the key %q", strings.TrimSpace(c.marked.Show(key.Text))))
	return false
}

// LiteralText gives a scalar that is read while no host is known, so that it cannot hold
// expressions; nil if it is wrong.
func (c *Compiler) LiteralText(key string, n *yamlpos.Node) *yamlpos.Node {
	switch {
	case n.Kind != yamlpos.Scalar: // which decoding has reported
		return nil
	case c.IsOpen(n):
		c.report.Add(n.Errorf("write a name: no host is known when it is read; hierarchy and overrides choose data by host, control chooses resources",
			"%s cannot be an expression", key))
		return nil
	}
	return n
}

// LiteralTags refuses expressions in tags, which are looked at before any host is.
func (c *Compiler) LiteralTags(tags *yamlpos.Node) {
	if tags == nil {
		return
	}
	for _, item := range tags.Items {
		if c.IsOpen(item) {
			c.report.Add(item.Errorf("use control for what depends on the host", "a tag cannot be an expression"))
		}
	}
}

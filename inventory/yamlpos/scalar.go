package yamlpos

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// scalar sets text and value of out. Tags other than those in the core schema are refused, since no code here
// interprets them.
func (c *converter) scalar(out *Node, n *yaml.Node) {
	out.Text, out.Value = n.Value, n.Value
	switch n.Tag {
	case "!!str", "!!merge", "!!timestamp":
		out.Plain = c.plain+c.secret > 0 && n.Tag == "!!str"
		out.Quoted = n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0
	case "!!null", "!!bool", "!!int", "!!float":
		value, err := resolve(n)
		if err != nil {
			c.errs.Add(out.Errorf("", "%q is not %s", n.Value, n.Tag))
			return
		}
		out.Value = value
	default:
		switch {
		case c.isPlain(n):
			out.Quoted, out.Plain = true, true
			return
		case c.isSecret(n):
			out.Quoted, out.Plain = true, true
			return
		case c.seals(n.Tag):
			c.sealed(out, n.Tag)
			return
		}
		c.refuseTag(out, n)
	}
}

func isVault(tag string) bool { return tag == "!vault" || tag == "!vault-encrypted" }

func (c *converter) isPlain(n *yaml.Node) bool { return c.plainTag != "" && n.Tag == c.plainTag }

func (c *converter) isSecret(n *yaml.Node) bool { return c.secrets && n.Tag == secretTag }

const (
	secretTag  = "!secret"
	secretHint = "move the secret into data of the manifest or into a variable of the inventory, and write an expression here, such as \"{{ Data.password }}\""
)

// RefuseSecrets adds an error for each secret in n, where secrets are not allowed.
func (n *Node) RefuseSecrets(errs *Errors) {
	if !n.Secret {
		return
	}
	if n.Kind == Scalar {
		errs.Add(n.Errorf(secretHint, "%s is not allowed here", n.mark()))
	}
	for _, item := range n.Items {
		item.RefuseSecrets(errs)
	}
	for _, p := range n.Pairs {
		p.Value.RefuseSecrets(errs)
	}
}

// mark names what makes a scalar a secret.
func (n *Node) mark() string {
	switch {
	case n.Sealed == nil:
		return "!secret"
	case n.Sealed.Program != nil:
		return "secret: {cmd: …}"
	}
	return n.Sealed.Tag
}

// resolve returns the value that yaml.v3 finds for a scalar of the core schema.
func resolve(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	}
	return v, nil
}

func (c *converter) checkTag(out *Node, n *yaml.Node, want string) {
	if n.Tag != want && !c.isPlain(n) && !c.isSecret(n) {
		c.refuseTag(out, n)
	}
}

// secretKeys matches the end of keys whose values may be passwords, which no error shows.
const secretKeys = `(?i)pass(?:word|wd|phrase)?`

var secretKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(secretKeys + `$`) })

func (c *converter) refuseTag(out *Node, n *yaml.Node) {
	hint := "remove it"
	switch {
	case n.Tag == "!!binary":
		hint = "name a file instead, or write the text"
	case isVault(n.Tag):
		hint = vaultHint
	case n.Tag == secretTag:
		hint = secretHint
	default:
		if c.allSecret || secretKey().MatchString(c.keyText) {
			c.errs.Add(out.Errorf("quote a text that begins with !", "this tag is not supported (and not shown: it may be a password)"))
			return
		}
	}
	c.errs.Add(out.Errorf(hint, "tag %s is not supported", n.Tag))
}

// Describe names what n is, for an error: "a list", "the number 5", `the text "x"`.
func (n *Node) Describe() string {
	switch n.Kind {
	case Map:
		return "a map"
	case List:
		return "a list"
	}
	if n.Secret {
		return "a secret"
	}
	switch n.Value.(type) {
	case nil:
		return "nothing"
	case bool:
		return n.Text
	case int64, float64:
		return "the number " + n.Text
	}
	return fmt.Sprintf("the text %q", shortened(n.Text))
}

// shortened cuts a text for an error down to its first line and 40 characters.
func shortened(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if utf8.RuneCountInString(line) > 40 {
		line, more = string([]rune(line)[:40]), true
	}
	if more {
		line += "…"
	}
	return line
}

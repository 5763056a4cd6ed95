package connection

import (
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// secret reads a password. No error has its text.
func (r Reader) secret(k rank, name, key string, n *yamlpos.Node) (Setting, bool) {
	if err := checkSecret(name, n); err != nil {
		r.Errs.Add(err)
		return Setting{}, false
	}
	text := n.Text
	set := func(p *Params) { p.Password = text }
	if key == "become_password" {
		set = func(p *Params) { p.BecomePassword = text }
	}
	place := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column}
	return Setting{name, k, place, []field{{key: key, set: set}}}, true
}

func checkSecret(name string, n *yamlpos.Node) error {
	switch {
	case n.Kind != yamlpos.Scalar:
		return n.Errorf("", "%s must be a single value", name)
	case n.Text == "":
		return n.Errorf("remove it, or leave the value away to take one away", "%s is empty", name)
	case strings.Contains(n.Text, "{{") && !n.Plain:
		return n.Errorf(`connection values are read before anything is evaluated; in YAML !unsafe before a password makes it mean itself, passwords can be asked for with -k and -K, and a second -i SCRIPT may print those of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say)`, "%s cannot be an expression", name)
	case strings.ContainsFunc(n.Text, unicode.IsControl):
		return n.Errorf("", "%s has a control character", name)
	}
	if _, isText := n.Value.(string); !isText && yamlpos.From(n, n.Value).Text != n.Text {
		return n.Errorf("quote it, on a line of an INI inventory twice: '\"…\"'", "%s is not read as text, but as a number or a boolean that is written another way", name)
	}
	return nil
}

package connection

import (
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// secret reads a password into s, which then has no more than its place; nor has an
// error its text.
func secret(s Setting, key string) Setting {
	text := s.at.Text
	err := checkSecret(s.name, s.at)
	s.at = &yamlpos.Node{File: s.at.File, Line: s.at.Line, Column: s.at.Column}
	if err != nil {
		s.refuse(err)
		return s
	}
	set := func(p *Params) { p.Password = text }
	if key == "become_password" {
		set = func(p *Params) { p.BecomePassword = text }
	}
	s.fields = []field{{key: key, set: set}}
	return s
}

func checkSecret(name string, n *yamlpos.Node) error {
	switch {
	case n.Encrypted:
		return n.EncryptedErrorf("%s is encrypted by ansible-vault", name)
	case n.Kind != yamlpos.Scalar:
		return n.Errorf("", "%s must be a single value", name)
	case n.Text == "":
		return n.Errorf("remove it, or leave the value away to take one away", "%s is empty", name)
	case yamlpos.IsTemplate(n):
		return n.Errorf(`connection values are read before anything is evaluated; in YAML !unsafe before a password makes it mean itself, passwords can be asked for with -k and -K, and a second -i SCRIPT may print those of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say)`, "%s cannot be an expression", name)
	case strings.ContainsFunc(n.Text, unicode.IsControl):
		return n.Errorf("", "%s has a control character", name)
	}
	if _, isText := n.Value.(string); !isText && yamlpos.From(n, n.Value).Text != n.Text {
		return n.Errorf("quote it, on a line of an INI inventory twice: '\"…\"'", "%s is not read as text, but as a number or a boolean that is written another way", name)
	}
	return nil
}

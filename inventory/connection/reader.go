package connection

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Reader reads connection settings from maps of an inventory. A value that cannot be applied is not an error yet: see
// [Params.Refused].
type Reader struct {
	Errs *yamlpos.Errors // unknown keys below connect:
	// Known are the variables beginning with ansible_ that another package reads.
	Known []string
	// Ignored is called for each variable that has no meaning here, and Misspelt for each
	// that was probably meant to be another one.
	Ignored  func(key *yamlpos.Node)
	Misspelt func(key *yamlpos.Node, meant string)
}

// Connect reads the map below connect:.
func (r Reader) Connect(n *yamlpos.Node) (list Settings) {
	for _, p := range n.Pairs {
		if !IsKey(p.Key.Text) {
			r.Errs.Add(unknownKey(p.Key))
			continue
		}
		list.Add(Settings{setting(connectMaps, p.Key.Text, p.Key.Text, p.Value)})
	}
	return list
}

// Variables reads those variables in a map that concern the connection.
func (r Reader) Variables(vars *yamlpos.Node) (list Settings) {
	for _, p := range vars.Pairs {
		if strings.HasPrefix(p.Key.Text, "ansible_") {
			if s, ok := r.variable(p.Key, p.Value); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

func (r Reader) variable(key, value *yamlpos.Node) (Setting, bool) {
	name := key.Text
	if field := keyOf(name); field != "" {
		return setting(ansibleVar, name, field, asVariable(value)), true
	}
	switch {
	case slices.Contains(r.Known, name):
	case slices.Contains(argsVars, name):
		return args(name, value), true
	case slices.Contains(ignoredVars, name):
		r.Ignored(key)
	case slices.Contains(unsupportedVars, name):
		return unsupported(key, value), true
	default:
		if meant := yamlpos.Suggest(name, slices.Concat(keyVars, r.Known, argsVars)); meant != "" {
			r.Misspelt(key, meant)
		}
	}
	return Setting{}, false
}

// unsupported returns the setting of a variable that cannot be applied unless it is empty.
func unsupported(key, value *yamlpos.Node) Setting {
	s := Setting{name: key.Text, rank: ansibleVar, at: value}
	if !saysNothing(value) {
		s.refused.Add(key.Errorf("remove it", "%q is not supported yet", key.Text))
	}
	return s
}

func saysNothing(n *yamlpos.Node) bool {
	return n.IsNull() || n.Kind == yamlpos.Scalar && n.Text == ""
}

// asVariable returns n with the text of a variable's value: 0x10 becomes 16.
func asVariable(n *yamlpos.Node) *yamlpos.Node {
	if _, isText := n.Value.(string); isText || n.Kind != yamlpos.Scalar {
		return n
	}
	return yamlpos.From(n, n.Value)
}

// args reads arguments that Ansible would pass to ssh. Here they never reach a shell or ssh: unknown arguments are
// refused.
func args(name string, n *yamlpos.Node) Setting {
	s := Setting{name: name, rank: sshArgs, at: n}
	switch {
	case saysNothing(n):
		return s
	case n.Secret:
		s.refuse(notSecret(name, n))
		s.at = n.Shown("[secret]")
		return s
	}
	texts, err := textsOf(name, n, false)
	if err == nil {
		s.fields, err = parseArgs(name, texts[0])
	}
	s.refuse(err)
	return s
}

// setting reads the value n, written under name, of a key. Null is a setting too: it removes the value that a lower
// layer set under that name.
func setting(k rank, name, key string, n *yamlpos.Node) Setting {
	s := Setting{name: name, rank: k, at: n}
	switch {
	case n.IsNull():
		return s
	case IsSecretKey(key):
		return secret(s, key)
	case n.Secret:
		s.refuse(notSecret(name, n))
		s.at = n.Shown("[secret]")
		return s
	}
	texts, err := textsOf(name, n, k == connectMaps && (key == "private_key" || key == "known_hosts"))
	if err == nil {
		var f field
		f, err = parseField(name, key, texts)
		s.fields = []field{f}
	}
	s.refuse(err)
	return s
}

// notSecret returns the error for a setting that is marked as secret and would be shown.
func notSecret(name string, n *yamlpos.Node) error {
	return n.Errorf("only passwords of a connection can be secret: write this value unencrypted and without !secret", "%q cannot be a secret", name)
}

// textsOf returns the text of a scalar, or the texts of a list where a list is allowed.
func textsOf(name string, n *yamlpos.Node, list bool) ([]string, error) {
	if n.Sealed != nil {
		return nil, n.EncryptedErrorf("%q is encrypted by ansible-vault", name)
	}
	if n.Kind == yamlpos.Scalar {
		return []string{n.Text}, nil
	}
	if n.Kind == yamlpos.Map || !list {
		return nil, n.Errorf("", "%q must be a single value, not %s", name, n.Describe())
	}
	var texts []string
	err := yamlpos.Decode(n, &texts)
	return texts, err
}

package connection

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Reader reads what maps of an inventory say about connections. It goes on after
// errors, so that all of them are reported.
type Reader struct {
	Errs *yamlpos.Errors
	// Known are the variables beginning with ansible_ that somebody else reads.
	Known []string
	// Ignored is told of each variable that has no meaning here, and Misspelt of each
	// that was probably meant to be another one.
	Ignored  func(key *yamlpos.Node)
	Misspelt func(key *yamlpos.Node, meant string)
}

// Connect reads a map that stands below connect:.
func (r Reader) Connect(n *yamlpos.Node) (list Settings) {
	for _, p := range n.Pairs {
		if !IsKey(p.Key.Text) {
			r.Errs.Add(unknownKey(p.Key))
			continue
		}
		if s, ok := r.setting(connectMaps, p.Key.Text, p.Key.Text, p.Value); ok {
			list.Add(Settings{s})
		}
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
		return r.setting(ansibleVar, name, field, asVariable(value))
	}
	switch {
	case slices.Contains(r.Known, name):
	case slices.Contains(argsVars, name):
		return r.args(name, value)
	case slices.Contains(ignoredVars, name):
		r.Ignored(key)
	case slices.Contains(unsupportedVars, name):
		r.Errs.Add(key.Errorf("remove it", "%s is not supported yet", name))
	default:
		if meant := yamlpos.Suggest(name, slices.Concat(keyVars, r.Known, argsVars)); meant != "" {
			r.Misspelt(key, meant)
		}
	}
	return Setting{}, false
}

// asVariable gives n the text that the value of a variable has: 0x10 is 16.
func asVariable(n *yamlpos.Node) *yamlpos.Node {
	if _, isText := n.Value.(string); isText || n.Kind != yamlpos.Scalar {
		return n
	}
	return yamlpos.From(n, n.Value)
}

// args reads arguments that Ansible would give to ssh. They are never given to a
// shell or to ssh: what is not understood is an error.
func (r Reader) args(name string, n *yamlpos.Node) (Setting, bool) {
	if n.IsNull() || n.Kind == yamlpos.Scalar && n.Text == "" {
		return Setting{name: name, rank: sshArgs, at: n}, true
	}
	texts, err := textsOf(name, n, false)
	if err != nil {
		r.Errs.Add(err)
		return Setting{}, false
	}
	fields, err := parseArgs(name, texts[0])
	if err != nil {
		r.Errs.Add(positioned(n, err))
		return Setting{}, false
	}
	return Setting{name, sshArgs, n, fields}, true
}

// setting reads the value n, written under name, of a key. Null is a setting too:
// it takes away what a lower layer set under that name.
func (r Reader) setting(k rank, name, key string, n *yamlpos.Node) (Setting, bool) {
	if n.IsNull() {
		return Setting{name: name, rank: k, at: n}, true
	}
	if IsSecretKey(key) {
		return r.secret(k, name, key, n)
	}
	texts, err := textsOf(name, n, k == connectMaps && (key == "private_key" || key == "known_hosts"))
	if err != nil {
		r.Errs.Add(err)
		return Setting{}, false
	}
	f, err := parseField(name, key, texts)
	if err != nil {
		r.Errs.Add(positioned(n, err))
		return Setting{}, false
	}
	return Setting{name, k, n, []field{f}}, true
}

// textsOf gives the text of a scalar, or those of a list where one may stand.
func textsOf(name string, n *yamlpos.Node, list bool) ([]string, error) {
	if n.Kind == yamlpos.Scalar {
		return []string{n.Text}, nil
	}
	if n.Kind == yamlpos.Map || !list {
		return nil, n.Errorf("", "%s must be a single value, not %s", name, n.Describe())
	}
	var texts []string
	err := yamlpos.Decode(n, &texts)
	return texts, err
}

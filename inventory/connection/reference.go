package connection

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Variables are the merged variables of one host, without passwords.
type Variables interface {
	Variable(name string) *yamlpos.Node // nil if not set
	VariableNames() []string
}

// referencePattern is a text that is one plain reference of Jinja, to a variable or into a map.
const referencePattern = `^\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)[ \t]*\}\}$`

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(referencePattern) })

// referredBy returns the variable that a password refers to: vault_become for "{{ vault_become }}". It returns "" if
// the password is not a reference.
func referredBy(n *yamlpos.Node) string {
	if n == nil || !yamlpos.IsTemplate(n) {
		return ""
	}
	if found := reference().FindStringSubmatch(n.Text); found != nil {
		return found[1]
	}
	return ""
}

// refers reports whether the setting is a password that another variable holds.
func (s Setting) refers() bool { return referredBy(s.secret) != "" }

// Refers reports whether a password among the settings is held by another variable: a cheap
// answer for the many hosts without one.
func (s Settings) Refers() bool { return slices.ContainsFunc(s, Setting.refers) }

// Followed returns the passwords that other variables hold, with their final values: those that count for the host with
// these layers and variables.
func Followed(layers []Settings, v Variables) (list Settings) {
	counting := overlaid(layers)
	for _, s := range counting {
		if s.refers() {
			list = append(list, s.followed(counting, v))
		}
	}
	return list
}

// A link is one step on the way from a password to the variable that holds it.
type link struct {
	name string
	at   *yamlpos.Node
}

func (l link) String() string { return l.name + " (" + l.at.Pos() + ")" }

// followed returns the setting with the password that its reference leads to; this may be a reference again. counting
// are all effective settings of the host.
func (s Setting) followed(counting Settings, v Variables) Setting {
	path := []link{{s.name, s.secret}}
	for {
		last := path[len(path)-1]
		name := referredBy(last.at)
		if name == "" {
			break
		}
		n := variableOf(name, counting, v)
		if n == nil {
			s.refuse(last.at.Errorf(meantFor(name, counting, v), "%q refers to the variable %q, which is not set for the host", last.name, name))
			return s
		}
		n = asVariable(n)
		path = append(path, link{name, n})
		if circle := slices.IndexFunc(path, func(l link) bool { return l.at == n }); circle < len(path)-1 {
			s.refuse(n.Errorf("write the password itself as the value of one of these variables", "passwords refer to each other in a circle: %s", joined(path[circle:])))
			return s
		}
	}
	last := path[len(path)-1]
	s.secret = last.at
	if err := checkSecret(fmt.Sprintf("%q, to which %q refers,", last.name, path[len(path)-2].name), last.at); err != nil {
		s.refuse(err)
		return s
	}
	s.fields = passwordField(s.key(), last.at)
	return s
}

func joined(path []link) string {
	texts := make([]string, len(path))
	for i, l := range path {
		texts[i] = l.String()
	}
	return strings.Join(texts, " -> ")
}

// variableOf finds a variable, or an entry of a map in one; nil if it is not set.
func variableOf(name string, counting Settings, v Variables) *yamlpos.Node {
	first, rest, inMap := strings.Cut(name, ".")
	var n *yamlpos.Node
	if i := slices.IndexFunc(counting, func(s Setting) bool { return s.name == first }); i >= 0 && IsSecretVariable(first) {
		n = counting[i].secret
	} else {
		n = v.Variable(first)
	}
	if !inMap {
		return n
	}
	for key := range strings.SplitSeq(rest, ".") {
		if n == nil || n.Kind != yamlpos.Map {
			return nil
		}
		n = n.Get(key)
	}
	return n
}

// meantFor returns the hint for a variable that is not set.
func meantFor(name string, counting Settings, v Variables) string {
	first, rest, inMap := strings.Cut(name, ".")
	known := v.VariableNames()
	for _, s := range counting {
		if IsSecretVariable(s.name) {
			known = append(known, s.name)
		}
	}
	slices.Sort(known)
	switch meant := yamlpos.Suggest(first, known); {
	case meant == "" || meant == first:
		return "it is looked for among the variables that the inventory, group_vars and host_vars have for the host"
	case inMap:
		return fmt.Sprintf("did you mean %q?", meant+"."+rest)
	default:
		return fmt.Sprintf("did you mean %q?", meant)
	}
}

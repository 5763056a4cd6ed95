package reference

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// Parse takes type#name apart.
func Parse(n *yamlpos.Node) (typeName, name string, err error) {
	typeName, name, _ = strings.Cut(n.Text, "#")
	if typeName == "" || name == "" {
		return "", "", n.Errorf("write TYPE#NAME, such as file#/etc/motd", "%q is not a reference to a resource", n.Text)
	}
	return typeName, name, nil
}

// UnknownType is the error of a name that no type of the registry has.
func UnknownType(registry modules.Registry, n *yamlpos.Node, name string) error {
	hint, known := "ccm-push --help lists the types", registry.Names()
	if strings.Contains(name, "/") {
		hint = "a type of DSC is called Owner/Thing or Owner.Group/Thing; a built-in type is called Ccm/File or file"
		for _, one := range registry.Names() {
			known = append(known, "Ccm/"+strings.ToUpper(one[:1])+one[1:])
		}
	}
	module, isModule := ansible.Find(name)
	_, resource, isReference := strings.Cut(n.Text, "#")
	switch s := yamlpos.Suggest(name, known); {
	case isModule && isReference && module.Type != "":
		hint = "did you mean " + module.Type + "#" + resource + "?"
	case isModule && !isReference:
		return n.Errorf(module.Hint(), "%q is a module of Ansible", name)
	case s != "":
		hint = "did you mean " + strconv.Quote(s) + "?"
	}
	return n.Errorf(hint, "unknown resource type %q", name)
}

// stateKey is the key of the state of a resource, for types that report one.
const stateKey = "state"

// Sends names the values that others can receive from resources of a type. Parts of a value, which are named after a
// dot, are not listed.
func Sends(t modules.Type) []string {
	var names []string
	if s, ok := t.New().(modules.Sender); ok {
		names = slices.Clone(s.Sends())
	}
	if t.ReportsState {
		names = append(names, stateKey)
	}
	return names
}

// CheckValue is the error of a value, which n names, that resources of a type do not
// have.
func CheckValue(registry modules.Registry, t modules.Type, n *yamlpos.Node) error {
	if head, _, _ := strings.Cut(n.Text, "."); slices.Contains(Sends(t), head) {
		return nil
	}
	return n.Errorf(knownValues(registry, t), "type %s has no value %q", t.Name, n.Text)
}

// knownValues describes the values that resources of a type send; if there are none, it names types that send some.
func knownValues(registry modules.Registry, t modules.Type) string {
	if values := Sends(t); len(values) > 0 {
		return "it has " + strings.Join(values, ", ")
	}
	var others []string
	for _, other := range registry {
		if values := Sends(other); len(values) > 0 {
			others = append(others, other.Name+" has "+strings.Join(values, ", "))
		}
	}
	return "type " + t.Name + " has no values; " + strings.Join(others, "; ")
}

// SplitValue splits a reference to a value, type#name.key, in which both name and key may have dots. exists reports
// whether a resource has that name. The name is the longest one that exists. If none exists, it ends before the last
// dot that is followed by a value of the type.
func SplitValue(n *yamlpos.Node, registry modules.Registry, exists func(ref string) bool) (ref, key string, err error) {
	typeName, _, isRef := strings.Cut(n.Text, "#")
	t, known := registry.Lookup(typeName)
	switch {
	case !isRef || typeName == "":
		return "", "", n.Errorf("write type#name.key, as in exec#token.stdout", "%q names no value of a resource", n.Text)
	case !known:
		return "", "", UnknownType(registry, n, typeName)
	}
	values := Sends(t)
	for _, mustExist := range []bool{true, false} {
		for dot := strings.LastIndexByte(n.Text, '.'); dot > len(typeName)+1; dot = strings.LastIndexByte(n.Text[:dot], '.') {
			ref, key = n.Text[:dot], n.Text[dot+1:]
			head, _, _ := strings.Cut(key, ".")
			if slices.Contains(values, head) && (!mustExist || exists(ref)) {
				return ref, key, nil
			}
		}
	}
	hint := knownValues(registry, t)
	if len(values) > 0 {
		hint = "write " + typeName + "#NAME." + values[0] + "; " + hint
	}
	return "", "", n.Errorf(hint, "%q names no value of a resource", n.Text)
}

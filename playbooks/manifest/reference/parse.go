package reference

import (
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// Parse takes type#name apart.
func Parse(n *yamlpos.Node) (typeName, name string, err error) {
	typeName, name, _ = strings.Cut(n.Text, "#")
	if typeName == "" || name == "" {
		return "", "", n.Errorf("write type#name, as in file#/etc/motd", "%q names no resource", n.Text)
	}
	return typeName, name, nil
}

// UnknownType is the error of a name that no type of the registry has.
func UnknownType(registry modules.Registry, n *yamlpos.Node, name string) error {
	hint, known := "ccm-push --help lists the types", registry.Names()
	if strings.Contains(name, "/") {
		hint = "a resource of DSC is called Owner/Thing or Owner.Group/Thing, a built-in one Ccm/File or file"
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
		hint = "did you mean " + s + "?"
	}
	return n.Errorf(hint, "unknown resource type %q", name)
}

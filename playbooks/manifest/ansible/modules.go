package ansible

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Module describes the replacement of an Ansible module.
type Module struct {
	Type  string // resource type; empty means none
	Write string // entry for the resources of a manifest: "- package: [nginx: {…}]"; without a type a sentence
	AdHoc string // the words after a pattern: "package nginx ensure=present"; without a type a sentence; "" if it is for manifests only

	Args Arguments // arguments that from-ansible converts; nil if it does not convert the module
	Gap  string    // reason why the module is not converted; else the parts that are not converted, or the differences
}

// Arguments maps the names of a module's arguments to their replacements.
type Arguments map[string]Argument

// An Argument describes the replacement of one argument. Exactly one field is set.
type Argument struct {
	To   string // the property
	Drop string // why it needs none
	Gap  string // why it cannot be carried over
}

func same(name string) Argument { return Argument{To: name} }
func none(why string) Argument  { return Argument{Drop: why} }
func no(why string) Argument    { return Argument{Gap: why} }

// Hint returns the hint about what to write in a manifest instead of the module.
func (m Module) Hint() string {
	if m.Type == "" {
		return m.Write
	}
	return "use the type " + m.Type + ": write " + m.Write
}

// AdHocHint returns the hint about what to run ad hoc instead of the module.
func (m Module) AdHocHint() string {
	switch {
	case m.AdHoc == "":
		return "in a manifest " + m.Hint()
	case m.Type == "":
		return m.AdHoc
	}
	return "use the type " + m.Type + ": ccm-push PATTERN " + m.AdHoc
}

// aliases are other names of modules, and modules that take the same arguments.
var aliases = map[string]string{
	"dnf5": "dnf", "yum": "dnf", "systemd_service": "systemd", "aptitude": "apt", "openssl_certificate": "x509_certificate",
}

// Name returns the module's name in the table, without the collection prefix (ansible.builtin. in
// ansible.builtin.copy), if the table has it.
func Name(module string) string {
	if parts := strings.Split(module, "."); len(parts) == 3 { // namespace.collection.module
		module = parts[2]
	}
	if other, ok := aliases[module]; ok {
		return other
	}
	return module
}

// Find returns the replacement of a module.
func Find(name string) (Module, bool) {
	m, ok := modules()[Name(name)]
	return m, ok
}

// Names returns the names of all modules in the table, in order.
func Names() []string { return slices.Sorted(maps.Keys(modules())) }

// Texts that several modules share.
const (
	packageWrite  = "- package: [nginx: {ensure: present}]"
	packageAdHoc  = "package nginx ensure=present"
	serviceWrite  = "- service: [nginx: {ensure: running, enable: true}]"
	serviceAdHoc  = "service nginx ensure=running enable=true"
	lineWrite     = `- line: [/etc/hosts: {regexp: '\sweb1$', line: "192.0.2.1 web1"}]`
	lineAdHoc     = `line /etc/hosts line="192.0.2.1 web1"`
	downloadWrite = "- file: [/opt/app: {source: \"https://example.net/app\", checksum: \"sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03\"}]"
	downloadAdHoc = "file /opt/app source=https://example.net/app checksum=sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

	fetchWrite = "- archive: [/opt/app.tar.gz: {url: \"https://example.net/app.tar.gz\", extract_parent: /opt, creates: /opt/app, owner: root, group: root}]"
	fetchAdHoc = "archive /opt/app.tar.gz url=https://example.net/app.tar.gz extract_parent=/opt creates=/opt/app owner=root group=root"

	factsWrite = "remove it: facts in expressions are collected automatically"
	factsAdHoc = "use ccm-push facts PATTERN [PATH]"
	factsGap   = "only if no earlier task of the play can change the values"
)

// modules returns the Ansible modules that are common in playbooks and on command lines. Error hints, from-ansible and
// docs/guide/from-ansible.md share this one table.
var modules = sync.OnceValue(func() map[string]Module {
	return table(fileModules(), packageModules(), accountModules(), systemModules(), commandModules(), controlModules(), networkModules(), tlsModules(), containerModules())
})

func table(parts ...map[string]Module) map[string]Module {
	all := map[string]Module{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

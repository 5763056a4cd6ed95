package ansible

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Module is what has the place of a module of Ansible.
type Module struct {
	Type  string // the resource type; "" if there is none
	Write string // what to write into the resources of a manifest: "- package: [nginx: {…}]"; without a type a sentence
	AdHoc string // the words after a pattern: "package nginx ensure=present"; without a type a sentence; "" if it is for manifests only

	Args Arguments // that from-ansible carries over; nil if it does not carry over the module
	Gap  string    // why it does not; else what it does not carry over, or what is different
}

// Arguments are those of a module, by their names.
type Arguments map[string]Argument

// An Argument is what has the place of one argument; one of its fields is set.
type Argument struct {
	To   string // the property
	Drop string // why it needs none
	Gap  string // why it cannot be carried over
}

func same(name string) Argument { return Argument{To: name} }
func none(why string) Argument  { return Argument{Drop: why} }
func no(why string) Argument    { return Argument{Gap: why} }

// Hint says what to write in a manifest in place of the module.
func (m Module) Hint() string {
	if m.Type == "" {
		return m.Write
	}
	return "use the type " + m.Type + ": write " + m.Write
}

// AdHocHint says what to call in place of the module.
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

// Name is what a module is called in the table, if it is there: without its collection, which stands before it in
// ansible.builtin.copy.
func Name(module string) string {
	if parts := strings.Split(module, "."); len(parts) == 3 { // namespace.collection.module
		module = parts[2]
	}
	if other, ok := aliases[module]; ok {
		return other
	}
	return module
}

// Find gives what has the place of a module.
func Find(name string) (Module, bool) {
	m, ok := modules()[Name(name)]
	return m, ok
}

// Names are those of all modules in the table, in order.
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

// modules are those of Ansible that are common in playbooks and on command lines: one table for errors, for what
// from-ansible carries over, and for docs/guide/from-ansible.md.
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

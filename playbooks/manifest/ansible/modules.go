package ansible

import "strings"

// A Module is what has the place of a module of Ansible.
type Module struct {
	Type  string // the resource type; "" if there is none
	Write string // what to write into the resources of a manifest: "- package: [nginx: {…}]"; without a type a sentence
	AdHoc string // the words after a pattern: "package nginx ensure=present"; without a type a sentence; "" if it is for manifests only
}

// Hint says what to write in a manifest in place of the module.
func (m Module) Hint() string {
	if m.Type == "" {
		return m.Write
	}
	return "there is " + m.Type + ": write " + m.Write
}

// AdHocHint says what to call in place of the module.
func (m Module) AdHocHint() string {
	switch {
	case m.AdHoc == "":
		return "in a manifest " + m.Hint()
	case m.Type == "":
		return m.AdHoc
	}
	return "there is " + m.Type + ": ccm-push PATTERN " + m.AdHoc
}

// Find gives what has the place of a module, which may be called by its whole name, such
// as ansible.builtin.copy.
func Find(name string) (Module, bool) {
	short := name
	if parts := strings.Split(name, "."); len(parts) == 3 { // namespace.collection.module
		short = parts[2]
	}
	m, ok := modules[short]
	return m, ok
}

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

	factsWrite = "leave it out: the facts that are mentioned are asked for"
	factsAdHoc = "there is ccm-push facts PATTERN [PATH]"
	pathsWrite = "leave it out: a resource looks before it changes something; to decide, write creates, onlyif or unless at an exec"
)

// modules are those of Ansible that are common in playbooks and on command lines.
var modules = map[string]Module{
	// The names of types here; as keys of a manifest they are found before.
	"file":    {"file", `- file: [/srv/app: {ensure: directory, owner: root, group: root, mode: "0755"}]`, "file /srv/app ensure=directory owner=root group=root mode=0755"},
	"package": {"package", packageWrite, packageAdHoc},
	"service": {"service", serviceWrite, serviceAdHoc},
	"user":    {"user", "- user: [deploy: {ensure: present}]", "user deploy ensure=present"},
	"group":   {"group", "- group: [deploy: {ensure: present}]", "group deploy ensure=present"},
	"cron":    {"cron", `- cron: [backup: {command: /usr/local/bin/backup, hour: "3", minute: "0"}]`, `cron backup command=/usr/local/bin/backup hour=3 minute=0`},

	"apt": {"package", packageWrite, packageAdHoc}, "dnf": {"package", packageWrite, packageAdHoc}, "dnf5": {"package", packageWrite, packageAdHoc},
	"yum": {"package", packageWrite, packageAdHoc}, "apk": {"package", packageWrite, packageAdHoc}, "zypper": {"package", packageWrite, packageAdHoc},
	"pacman":  {"package", packageWrite, packageAdHoc},
	"systemd": {"service", serviceWrite, serviceAdHoc}, "systemd_service": {"service", serviceWrite, serviceAdHoc}, "sysvinit": {"service", serviceWrite, serviceAdHoc},

	"copy": {"file", `- file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]`,
		"file PATH ensure=present content=TEXT owner=USER group=GROUP mode=MODE"},
	"template": {"file", `- file: [/etc/motd: {content: "{{ jet('motd.jet') }}", owner: root, group: root, mode: "0644"}]`, ""},
	"assemble": {"file", `- file: [/etc/motd: {content: "{{ jet('motd.jet') }}", owner: root, group: root, mode: "0644"}]`, ""},

	"lineinfile":  {"line", lineWrite, lineAdHoc},
	"replace":     {"replace", `- replace: [/etc/app.conf: {regexp: 'old\.example\.net', replace: new.example.net}]`, `replace /etc/app.conf regexp=old replace=new`},
	"ini_file":    {"ini", `- ini: [/etc/php.ini: {section: PHP, option: memory_limit, value: 256M}]`, `ini /etc/php.ini section=PHP option=memory_limit value=256M`},
	"blockinfile": {"line", `- line: [/etc/hosts: {block: "192.0.2.1 web1"}]`, `line /etc/hosts block="192.0.2.1 web1"`},
	"get_url":     {"file", downloadWrite, downloadAdHoc}, "unarchive": {"archive", fetchWrite, fetchAdHoc},
	"synchronize":    {"scaffold", "- scaffold: [/srv/app: {source: app}]", ""},
	"authorized_key": {"authorized_key", "- authorized_key: [ann: {user: deploy, key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\"}]", "authorized_key ann user=deploy key=\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\""},

	"command": {"exec", `- exec: [systemctl reload nginx: {}]`, "exec COMMAND"},
	"shell":   {"exec", `- exec: ["echo $HOME > /tmp/home": {provider: shell}]`, "exec COMMAND"},
	"raw":     {"exec", `- exec: [systemctl reload nginx: {}]`, "exec COMMAND"},
	"script": {"exec", `- exec: [/usr/local/bin/setup: {creates: /opt/app}], with the script as a file above it`,
		"exec /usr/local/bin/setup, once the script is there as a file"},
	"git": {"git", `- git: [/srv/app: {source: "https://example.net/app.git", revision: v1.2}]`, "git /srv/app source=https://example.net/app.git revision=v1.2"},
	"pip": {"exec", `- exec: [/opt/app/bin/pip install flask: {creates: /opt/app/bin/flask}]`, "exec /opt/app/bin/pip install flask"},

	"apt_repository": {"file", `- file: [/etc/apt/sources.list.d/app.list: {source: app.list, owner: root, group: root, mode: "0644"}]`, ""},
	"yum_repository": {"file", `- file: [/etc/yum.repos.d/app.repo: {source: app.repo, owner: root, group: root, mode: "0644"}]`, ""},
	"apt_key":        {"file", `- file: [/etc/apt/keyrings/app.asc: {source: app.asc, owner: root, group: root, mode: "0644"}]`, ""},
	"sysctl":         {"sysctl", `- sysctl: [vm.swappiness: {value: "10"}]`, `sysctl vm.swappiness value=10`},
	"hostname":       {"hostname", "- hostname: [web1: {}]", "hostname web1"},
	"timezone":       {"timezone", "- timezone: [Europe/Vienna: {}]", "timezone Europe/Vienna"},
	"reboot":         {"", "there is none: a reboot ends the connection of a run", "there is exec, whose connection the reboot ends: ccm-push PATTERN exec reboot"},
	"mount":          {"mount", `- mount: [/data: {device: /dev/sdb1, fstype: ext4}]`, `mount /data device=/dev/sdb1 fstype=ext4`},

	"ping":                {"", "leave it out: a host that cannot be reached is reported", "exec true logs in and runs a command: ccm-push PATTERN exec true"},
	"wait_for_connection": {"", "leave it out: --connect-retries says how often a connection is tried again", "exec true logs in and runs a command: ccm-push PATTERN exec true"},
	"setup":               {"", factsWrite, factsAdHoc}, "gather_facts": {"", factsWrite, factsAdHoc},
	"package_facts": {"", pathsWrite, "there is exec: ccm-push PATTERN exec dpkg-query -W"}, "service_facts": {"", pathsWrite, "there is exec: ccm-push PATTERN exec systemctl list-units"},
	"stat": {"", pathsWrite, "there is exec: ccm-push PATTERN exec stat PATH"}, "find": {"", pathsWrite, "there is exec: ccm-push PATTERN exec find PATH"},
	"getent": {"", pathsWrite, "there is exec: ccm-push PATTERN exec getent passwd"}, "slurp": {"", pathsWrite, "there is exec: ccm-push PATTERN exec cat PATH"},
	"fetch":         {"", "there is none: a run brings no files of hosts back", "there is exec, which prints a file: ccm-push PATTERN exec cat PATH"},
	"debug":         {"", "leave it out; pre_message and post_message of ccm print a text, ccm-push render prints what a host would get", "there is ccm-push inventory explain HOST [KEY]"},
	"set_fact":      {"", "write data: {KEY: VALUE} at the play", ""},
	"include_vars":  {"", "write vars_files: [FILE] at the play", ""},
	"include_tasks": {"apply", "- apply: [other.yaml: {}]", ""},
	"import_tasks":  {"apply", "- apply: [other.yaml: {}]", ""},
	"include_role":  {"apply", "- apply: [other.yaml: {}]", ""},
	"import_role":   {"apply", "- apply: [other.yaml: {}]", ""},
	"include":       {"apply", "- apply: [other.yaml: {}]", ""},
	"fail":          {"assert", `- assert: [this host is left out: {that: ["{{ Data.left_out != true }}"]}]`, ""},
	"assert":        {"assert", `- assert: [enough memory: {that: ["{{ Data.memory >= 4 }}"]}]`, ""},
	"wait_for":      {"wait", `- wait: [the database is up: {port: 5432}]`, "wait db port=5432"},
	"uri":           {"", "write health_checks at a resource, or an exec of curl", "there is exec: ccm-push PATTERN exec curl -fsS URL"},
	"meta":          {"", "leave it out: a resource that subscribes is refreshed in its place in the order", ""},
	"pause":         {"", "write a play of its own: between two plays all hosts wait for each other", ""},
	"add_host":      {"", "write the host into the inventory", ""},
	"group_by":      {"", "write hierarchy and overrides at the play, which choose data by facts", ""},
	"known_hosts":   {"known_host", "- known_host: [git.example.net: {keys: [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq\"]}]", ""},
	"modprobe":      {"exec", `- exec: [modprobe br_netfilter: {creates: /sys/module/br_netfilter}]`, "exec modprobe br_netfilter"},
}

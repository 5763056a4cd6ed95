package fromansible

import (
	"maps"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A row is how a module goes over. What has its place, as people write it, is in
// playbooks/manifest/ansible, which errors use too.
type row struct {
	args map[string]arg
	to   func(t *task, r row) // writes the entries; nil if the module is not carried over
	why  string               // it is not, or what is different
}

// An arg is how an argument of a module goes over.
type arg struct {
	to   string // the property
	drop string // why it needs none
	why  string // why it cannot be carried over
}

var (
	same = func(name string) arg { return arg{to: name} }
	no   = func(why string) arg { return arg{why: why} }
	none = func(why string) arg { return arg{drop: why} }
)

// sameModules are other names of modules, and modules that take the same arguments.
var sameModules = map[string]string{
	"dnf5": "dnf", "yum": "dnf", "systemd_service": "systemd", "aptitude": "apt",
}

// attributes are the arguments of all modules that write files.
func attributes(more map[string]arg) map[string]arg {
	m := map[string]arg{
		"owner": same("owner"), "group": same("group"), "mode": same("mode"), "validate": same("validate"), "backup": same("backup"),
		"seuser": no("SELinux labels are kept, and not set"), "serole": no("SELinux labels are kept, and not set"), "setype": no("SELinux labels are kept, and not set"),
		"selevel": no("SELinux labels are kept, and not set"), "attributes": no("attributes of chattr are not set"), "attr": no("attributes of chattr are not set"),
		"unsafe_writes": none("files always appear whole"), "follow": none("links on the way are followed"), "decrypt": none("a source is decrypted"),
	}
	for key, a := range more {
		m[key] = a
	}
	return m
}

// moduleRows is the table of modules, by their short names.
var moduleRows map[string]row

func init() {
	packages := map[string]arg{
		"name": same("name"), "pkg": same("name"), "package": same("name"), "state": same("ensure"),
		"update_cache": same("cache_valid"), "cache_valid_time": same("cache_valid"), "use": none("the host shows which one it has"),
		"lock_timeout": none("another user of the package manager is waited for"), "policy_rc_d": no("what a package starts it starts"),
		"install_recommends": no("the package manager decides"), "default_release": no("a version says what is installed"),
		"purge": no("configuration files stay"), "autoremove": no("what others needed stays"), "autoclean": no("archives stay"), "upgrade": no("single packages are upgraded: ensure: latest"),
		"dpkg_options": none("a changed configuration file stays, as Debian asks for without a terminal"), "force_apt_get": none("there is nothing else"),
		"allow_unauthenticated": no("signatures are verified"), "disable_gpg_check": no("signatures are verified"), "force": no("signatures are verified"), "deb": no("a package is one of a repository"),
		"enablerepo": no("repositories are those of the host"), "disablerepo": no("repositories are those of the host"), "allow_downgrade": none("a version may be older"),
		"only_upgrade": no("a package is installed"), "install_weak_deps": no("the package manager decides"), "allowerasing": no("the package manager decides"), "nobest": no("the package manager decides"),
		"list": no("facts tell what is installed"), "fail_on_autoremove": none("nothing else is removed"), "exclude": no("single packages are named"),
	}
	services := map[string]arg{
		"name": same("name"), "service": same("name"), "unit": same("name"), "state": same("ensure"), "enabled": same("enable"), "masked": same("masked"),
		"daemon_reload": none("unit files that have changed are read again"), "daemon-reload": none("unit files that have changed are read again"),
		"daemon_reexec": no("an exec of systemctl daemon-reexec"), "no_block": none("a start is waited for"), "scope": no("units are those of the system"), "user": no("units are those of the system"),
		"use": none("the host shows which one it has"), "pattern": no("the service manager knows what runs"), "sleep": none("a restart is one of the service manager"), "arguments": no("a unit file has them"), "args": no("a unit file has them"),
		"force": none("links are made as systemctl makes them"), "runlevel": no("enable says it"),
	}
	moduleRows = map[string]row{
		"file": {args: attributes(map[string]arg{
			"path": same("name"), "dest": same("name"), "name": same("name"), "state": same("ensure"), "src": same("target"), "recurse": same("recurse"), "force": same("force"),
			"access_time": no("times are not set"), "modification_time": no("times are not set"),
		}), to: fileTask, why: "`state: hard` and `touch` that sets times have no counterpart"},
		"copy": {args: attributes(map[string]arg{
			"dest": same("name"), "src": same("source"), "content": same("content"), "directory_mode": no("directories have their own resources"), "remote_src": same("command"),
			"force": no("a content is kept as it is declared"), "checksum": none("contents are compared by their hashes"), "local_follow": none("a source is a file of the play"),
		}), to: copyTask},
		"template": {args: attributes(map[string]arg{
			"dest": same("name"), "src": same("content"), "force": no("a content is kept as it is declared"), "lstrip_blocks": none("the template is written so"), "trim_blocks": none("the template is written so"),
			"block_start_string": no("a template with other delimiters"), "block_end_string": no("a template with other delimiters"), "variable_start_string": no("a template with other delimiters"),
			"variable_end_string": no("a template with other delimiters"), "newline_sequence": no("line breaks are as in the template"), "output_encoding": no("texts are UTF-8"),
			"comment_start_string": no("a template with other delimiters"), "comment_end_string": no("a template with other delimiters"),
		}), to: templateTask},
		"lineinfile": {args: attributes(map[string]arg{
			"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "line": same("line"), "value": same("line"), "regexp": same("regexp"), "regex": same("regexp"), "state": same("ensure"), "create": same("create"),
			"insertafter": same("after"), "insertbefore": same("before"), "backrefs": no("what a regexp has found is not put into the line"), "search_string": no("write regexp"), "firstmatch": no("the last match counts"),
			"backup": no("undo brings back what a run has changed"),
		}), to: lineTask},
		"blockinfile": {args: attributes(map[string]arg{
			"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "block": same("block"), "content": same("block"), "marker": same("marker"), "state": same("ensure"), "create": same("create"),
			"insertafter": same("after"), "insertbefore": same("before"), "marker_begin": no("markers say BEGIN and END"), "marker_end": no("markers say BEGIN and END"), "backup": no("undo brings back what a run has changed"),
			"append_newline": no("no blank lines are added"), "prepend_newline": no("no blank lines are added"),
		}), to: blockTask},
		"get_url": {args: attributes(map[string]arg{
			"url": same("source"), "dest": same("name"), "checksum": same("checksum"), "sha256sum": same("checksum"), "force": none("a checksum decides"), "timeout": none("a download ends when nothing comes"),
			"headers": no("archive has headers"), "url_username": no("archive has username"), "url_password": no("archive has password"), "force_basic_auth": no("archive has username"),
			"validate_certs": no("certificates are verified"), "use_proxy": none("the proxies of the machine that downloads count"), "http_agent": none("servers are told ccm-push"), "tmp_dest": none("a file appears whole"),
			"backup": same("backup"),
		}), to: downloadTask, why: "without a checksum: `checksum: none`, for https"},
		"unarchive": {args: attributes(map[string]arg{
			"src": same("url"), "dest": same("extract_parent"), "creates": same("creates"), "remote_src": none("a URL says it"), "extra_opts": no("archives are unpacked without tar"), "exclude": no("archives are unpacked whole"),
			"include": no("archives are unpacked whole"), "keep_newer": no("files of the archive replace others"), "list_files": none("nobody asks"), "validate_certs": no("certificates are verified"), "copy": none("a URL says it"),
			"owner": no("what is unpacked belongs to who works"), "group": no("what is unpacked belongs to who works"), "mode": no("permissions are those of the archive"),
		}), to: archiveTask, why: "from a URL, with `creates`; an archive of the play needs an exec"},
		"package": {args: packages, to: packageTask}, "apt": {args: packages, to: packageTask}, "dnf": {args: packages, to: packageTask}, "apk": {args: packages, to: packageTask},
		"zypper": {args: packages, to: packageTask}, "pacman": {args: packages, to: packageTask},
		"service": {args: services, to: serviceTask}, "systemd": {args: services, to: serviceTask}, "sysvinit": {args: services, to: serviceTask},
		"user": {args: map[string]arg{
			"name": same("name"), "user": same("name"), "state": same("ensure"), "uid": same("uid"), "group": same("group"), "groups": same("groups"), "append": same("append"), "shell": same("shell"), "home": same("home"),
			"comment": same("comment"), "system": same("system"), "create_home": same("create_home"), "createhome": same("create_home"), "password": same("password_hash"), "password_lock": same("password_lock"),
			"remove": same("remove_home"), "update_password": no("a password is kept as it is declared"), "generate_ssh_key": no("an exec of ssh-keygen makes one"), "move_home": no("a home is not moved"), "expires": no("write expires: a day"),
			"force": no("a user whose processes run is not removed"), "non_unique": no("ids are unique"), "ssh_key_file": no("an exec of ssh-keygen makes one"), "ssh_key_bits": no("an exec of ssh-keygen makes one"),
			"ssh_key_type": no("an exec of ssh-keygen makes one"), "ssh_key_comment": no("an exec of ssh-keygen makes one"), "ssh_key_passphrase": no("an exec of ssh-keygen makes one"), "skeleton": no("a home is made from /etc/skel"),
			"local": no("accounts are those of the host's tools"), "login_class": no("there is none on Linux"), "umask": no("a home is made as the host has it"), "password_expire_max": no("an exec of chage"), "password_expire_min": no("an exec of chage"),
		}, to: userTask},
		"group": {args: map[string]arg{
			"name": same("name"), "state": same("ensure"), "gid": same("gid"), "system": same("system"), "local": no("accounts are those of the host's tools"), "non_unique": no("ids are unique"), "force": no("a group that is a user's primary one is not removed"),
		}, to: groupTask},
		"cron": {args: map[string]arg{
			"name": same("name"), "job": same("command"), "user": same("user"), "minute": same("minute"), "hour": same("hour"), "day": same("day"), "dom": same("day"), "month": same("month"), "weekday": same("weekday"), "dow": same("weekday"),
			"special_time": same("special"), "state": same("ensure"), "disabled": same("disabled"), "cron_file": no("entries are those of a crontab; /etc/cron.d has files"), "env": no("entries only"), "backup": no("undo brings back what a run has changed"),
			"insertafter": no("entries only"), "insertbefore": no("entries only"), "reboot": no("write special_time: reboot"),
		}, to: cronTask},
		"command": {args: commandArgs(), to: commandTask}, "shell": {args: commandArgs(), to: commandTask}, "raw": {args: commandArgs(), to: commandTask},
		"script": {args: commandArgs(), to: scriptTask},
		"stat": {args: map[string]arg{
			"path": same("command"), "dest": same("command"), "name": same("command"), "get_checksum": none("nobody asks"), "get_md5": none("nobody asks"), "get_mime": none("nobody asks"), "get_attributes": none("nobody asks"), "follow": none("links are followed"),
			"checksum_algorithm": none("nobody asks"), "get_size": none("nobody asks"),
		}, to: statTask, why: "an `exec` of test(1), for one question such as `exists` or `isdir`"},
		"fail":          {args: map[string]arg{"msg": same("message")}, to: failTask},
		"debug":         {args: map[string]arg{"msg": same("command"), "var": same("command"), "verbosity": none("it is shown with -v")}, to: debugTask},
		"set_fact":      {args: map[string]arg{}, to: setFactTask, why: "where a variable is set in one way: data, or its expression in its place"},
		"include_tasks": {args: map[string]arg{"file": same("name"), "apply": no("a block has them")}, to: includeTask},
		"import_tasks":  {args: map[string]arg{"file": same("name")}, to: includeTask}, "include": {args: map[string]arg{}, to: includeTask},
		"include_role": {args: roleArgs(), to: roleTask}, "import_role": {args: roleArgs(), to: roleTask},
		"include_vars": {args: map[string]arg{"file": same("name"), "name": no("variables are data at the top"), "dir": no("files have names")}, to: includeVarsTask},
		"meta":         {args: map[string]arg{}, to: metaTask},
		"ping":         {args: map[string]arg{"data": none("nobody asks")}, to: nothingTask}, "setup": {args: map[string]arg{"gather_subset": none("facts that are mentioned are asked for"), "filter": none("facts that are mentioned are asked for"), "gather_timeout": none("facts that are mentioned are asked for"), "fact_path": none("/etc/choria/ccm/facts.d")}, to: nothingTask},
		"gather_facts":        {args: map[string]arg{"parallel": none("facts that are mentioned are asked for")}, to: nothingTask},
		"wait_for_connection": {args: map[string]arg{"timeout": none("--connect-retries"), "delay": none("--connect-retries"), "connect_timeout": none("--connect-timeout"), "sleep": none("--connect-retries")}, to: nothingTask},
		"wait_for":            {args: waitArgs(), to: waitTask},
		"pause":               {args: map[string]arg{"seconds": same("command"), "minutes": same("command"), "prompt": no("a rollout asks a person: pause"), "echo": no("a rollout asks a person: pause")}, to: pauseTask},
		"modprobe":            {args: map[string]arg{"name": same("name"), "state": same("creates"), "params": no("a file in /etc/modprobe.d has them"), "persistent": no("a file in /etc/modules-load.d")}, to: modprobeTask},
		"pip":                 {args: pipArgs(), to: pipTask, why: "an `exec` of pip, for one that is in a virtualenv"},
		"find":                {why: "a command that looks has register, and Results.NAME.stdout_lines"},
	}
	maps.Copy(moduleRows, editRows())
	maps.Copy(moduleRows, hostRows())
	maps.Copy(moduleRows, networkRows())
	for name, r := range moduleRows {
		if r.args == nil {
			r.args = map[string]arg{}
			moduleRows[name] = r
		}
	}
}

func commandArgs() map[string]arg {
	return map[string]arg{
		"cmd": same("command"), "argv": same("command"), "chdir": same("cwd"), "creates": same("creates"), "removes": same("onlyif"), "executable": same("command"), "warn": none("it is gone from Ansible"),
		"stdin": no("a file has it"), "stdin_add_newline": no("a file has it"), "strip_empty_ends": none("stdout_trimmed"), "expand_argument_vars": none("no shell expands them"), "_raw_params": same("command"),
	}
}

func roleArgs() map[string]arg {
	return map[string]arg{
		"name": same("name"), "role": same("name"), "tasks_from": same("name"), "defaults_from": no("main only"), "vars_from": no("main only"), "handlers_from": no("main only"), "public": none("data of roles is data of the play"),
		"apply": no("a block has them"), "allow_duplicates": none("a manifest may be applied twice"), "rolespec_validate": none("data is checked where it is used"),
	}
}

func waitArgs() map[string]arg {
	return map[string]arg{
		"port": same("port"), "host": same("host"), "path": same("path"), "state": same("ensure"), "timeout": same("timeout"), "delay": none("it is looked at once"), "sleep": same("interval"), "connect_timeout": none("it is tried again"), "msg": none("the error says what is waited for"),
		"search_regex": same("line"), "exclude_hosts": no("only for drained"), "active_connection_states": no("only for drained"),
	}
}

func pipArgs() map[string]arg {
	return map[string]arg{
		"name": same("command"), "version": same("command"), "virtualenv": same("command"), "requirements": no("what it would change is not known beforehand"), "state": same("unless"), "executable": same("command"), "extra_args": same("command"),
		"virtualenv_command": same("command"), "virtualenv_python": same("command"), "virtualenv_site_packages": no("a virtualenv is made with -m venv"), "chdir": no("names are absolute"), "editable": no("a package is installed"), "umask": no("it is installed as the host has it"),
		"break_system_packages": no("a virtualenv has packages of its own"),
	}
}

// arg is an argument by the first of its names that is given.
func (t *task) arg(names ...string) *yaml.Node {
	for _, name := range names {
		if n := t.args[name]; n != nil && !isNull(n) {
			return n
		}
	}
	return nil
}

// checkArgs reports arguments that are not carried over.
func (t *task) checkArgs(r row) {
	for _, name := range t.order {
		a, known := r.args[name]
		n := t.args[name]
		switch {
		case n == nil || isNull(n):
		case !known:
			t.problem("the argument %s of %s", name, t.module)
		case a.why != "":
			if b, ok := boolOf(n); ok && !b { // what is not asked for needs no counterpart
				continue
			}
			if e := soleExpr(n); e != nil && isOmitted(e) {
				t.note("the argument %s is left out: %s", name, a.why)
				continue
			}
			t.problem("the argument %s of %s: %s", name, t.module, a.why)
		}
	}
}

// isOmitted reports whether an expression is default(omit).
func isOmitted(e *j2.Expr) bool {
	return e.Op == j2.Filter && (e.Text == "default" || e.Text == "d") && len(e.Args) > 1 && e.Args[1].Op == j2.Name && e.Args[1].Text == "omit"
}

// text is an argument as a text.
func (t *task) text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		t.problem("a value of %s that is no text", t.module)
		return ""
	}
	s, err := t.w.text(n.Value)
	t.fail(err)
	return s
}

// put writes an argument as a property. default(omit) becomes the value that is not given.
func (t *task) put(e *entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if x := soleExpr(n); x != nil && isOmitted(x) {
		v, err := t.w.write(x.Args[0])
		empty := t.c.emptyOf(e.typ, property)
		if empty == "" {
			t.problem("default(omit) of %s", property)
			return
		}
		t.fail(err)
		e.setText(property, "{{ "+v.in(whole)+" ?? "+empty+" }}")
		return
	}
	if x := soleExpr(n); x != nil && x.Op == j2.Cond && x.Args[2] != nil && x.Args[2].Op == j2.Name && x.Args[2].Text == "omit" {
		t.putCondition(e, property, x)
		return
	}
	v, err := t.w.value(n)
	t.fail(err)
	if err != nil {
		return
	}
	if t.c.wantsNumber(e.typ, property) && v.Kind == yaml.ScalarNode && digits(v.Value) {
		v = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: v.Value}
	}
	e.set(property, v)
}

// putCondition writes what is given only under a condition.
func (t *task) putCondition(e *entry, property string, x *j2.Expr) {
	empty := t.c.emptyOf(e.typ, property)
	if empty == "" {
		t.problem("omit of %s", property)
		return
	}
	condition, err := t.w.condition(x.Args[0])
	t.fail(err)
	v, err := t.w.write(x.Args[1])
	t.fail(err)
	e.setText(property, "{{ "+condition.in(condPrec+1)+" ? "+v.in(condPrec+1)+" : "+empty+" }}")
}

// putBool writes an argument that is a boolean of YAML 1.1.
func (t *task) putBool(e *entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if b, ok := boolOf(n); ok {
		e.set(property, boolNode(b))
		return
	}
	x := soleExpr(n)
	if x == nil {
		t.problem("%s: %s", property, n.Value)
		return
	}
	if isOmitted(x) {
		t.put(e, property, n)
		return
	}
	v, err := t.w.condition(x)
	t.fail(err)
	e.setText(property, "{{ "+v.text+" }}")
}

// oneOf writes an argument whose words are called otherwise here.
func (t *task) oneOf(n *yaml.Node, words map[string]string) string {
	if n == nil {
		return ""
	}
	x := soleExpr(n)
	if x == nil {
		if hasJinja(n) {
			t.problem("%s in %s", shortened(n.Value), t.module)
			return ""
		}
		to, ok := words[strings.ToLower(n.Value)]
		if !ok {
			t.problem("the state %s of %s", n.Value, t.module)
		}
		return to
	}
	unknown := false
	translated := translate(x, words, &unknown)
	if unknown {
		t.problem("a state of %s that is known only to a host", t.module)
	}
	v, err := t.w.write(translated)
	t.fail(err)
	return "{{ " + v.text + " }}"
}

// translate replaces the words that a state may be, where conditions choose one. A variable may hold
// others.
func translate(x *j2.Expr, words map[string]string, unknown *bool) *j2.Expr {
	out := *x
	switch {
	case x.Op == j2.Literal:
		s, isText := x.Lit.(string)
		to, ok := words[s]
		if !isText || !ok || to == "" {
			*unknown = true
			return x
		}
		return &j2.Expr{Op: j2.Literal, Lit: to}
	case x.Op == j2.Cond && x.Args[2] != nil:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	case x.Op == j2.Filter && x.Text == "ternary" && len(x.Args) == 3:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	default:
		*unknown = *unknown || !identical(words)
	}
	return &out
}

// identical reports whether words mean the same here, so that a variable may hold them.
func identical(words map[string]string) bool {
	for theirs, ours := range words {
		if theirs != ours {
			return false
		}
	}
	return true
}

// write adds an entry, which the keywords are about.
func (t *task) write(e *entry) *entry {
	if _, known := t.c.o.Types.Lookup(e.typ); !known {
		t.problem("the type %s, which this program does not have", e.typ)
	}
	t.main = e
	t.entries = append(t.entries, t.looped(e))
	if t.isLoop() && !strings.Contains(e.name, "Item") && !strings.Contains(e.name, "Outer") {
		t.problem("a loop whose resources would have one name: %s", e.name)
	}
	return e
}

// extra adds an entry beside the main one.
func (t *task) extra(e *entry) *entry {
	if t.isLoop() {
		t.problem("a loop of a task that becomes several resources")
	}
	t.entries = append(t.entries, e)
	return e
}

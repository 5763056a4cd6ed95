package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// editRows are the modules that edit files of the system.
func editRows() map[string]row {
	return map[string]row{
		"replace": {args: attributes(map[string]arg{
			"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "regexp": same("regexp"), "replace": same("replace"), "after": same("after"), "before": same("before"),
			"backup": no("undo brings back what a run has changed"), "encoding": no("texts are UTF-8"), "owner": no("a file keeps its owner"), "group": no("a file keeps its group"), "mode": no("a file keeps its mode"),
		}), to: replaceTask},
		"ini_file": {args: attributes(map[string]arg{
			"path": same("path"), "dest": same("path"), "section": same("section"), "option": same("option"), "value": same("value"), "values": same("values"), "state": same("ensure"), "create": same("create"),
			"exclusive": same("exclusive"), "no_extra_spaces": same("separator"), "allow_no_value": no("write bare"), "backup": no("undo brings back what a run has changed"), "ignore_spaces": none("blanks around = are not looked at"),
			"modify_inactive_option": none("a line that is a comment stays one"), "section_has_values": no("sections have names of their own"),
		}), to: iniTask},
		"mount": {args: map[string]arg{
			"path": same("name"), "name": same("name"), "src": same("device"), "fstype": same("fstype"), "opts": same("options"), "dump": same("dump"), "passno": same("pass"), "fstab": same("fstab"), "state": same("ensure"),
			"boot": no("it is mounted at boot"), "backup": no("undo brings back what a run has changed"),
		}, to: mountTask},
		"sysctl": {args: map[string]arg{
			"name": same("name"), "value": same("value"), "state": same("ensure"), "sysctl_set": same("runtime"), "reload": same("runtime"), "sysctl_file": same("path"), "ignoreerrors": no("what fails fails"),
		}, to: sysctlTask},
		"authorized_key": {args: map[string]arg{
			"user": same("user"), "key": same("key"), "exclusive": same("exclusive"), "state": same("ensure"), "key_options": same("options"), "path": same("path"), "comment": no("it stands in the key"),
			"manage_dir": none("~/.ssh is made with the file"), "validate_certs": no("a key is a text or a file of the play"), "follow": none("the file is written as the user"),
		}, to: keyTask},
		"assert": {args: map[string]arg{
			"that": same("that"), "fail_msg": same("message"), "msg": same("message"), "success_msg": none("nothing is said of what is right"), "quiet": none("nothing is said of what is right"),
		}, to: assertTask},
	}
}

func replaceTask(t *task, r row) {
	t.checkArgs(r)
	e := &entry{typ: "replace"}
	pattern := t.arg("regexp")
	if pattern == nil {
		t.problem("replace without regexp")
		return
	}
	t.lineName(e, t.place(t.arg("path", "dest", "destfile", "name")), pattern)
	t.putPattern(e, "regexp", pattern)
	if n := t.args["replace"]; n != nil && n.Value != "" {
		t.put(e, "replace", n)
	}
	t.putPattern(e, "after", t.arg("after"))
	t.putPattern(e, "before", t.arg("before"))
	t.put(e, "validate", t.arg("validate"))
	t.write(e)
}

func iniTask(t *task, r row) {
	t.checkArgs(r)
	e := &entry{typ: "ini"}
	option, section := t.arg("option"), t.arg("section")
	path := t.place(t.arg("path", "dest"))
	words := []string{path}
	for _, n := range []*yaml.Node{section, option} {
		if n != nil {
			words = append(words, t.text(n))
		}
	}
	e.name = strings.Join(words, " ")
	e.setText("path", path)
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.setText("ensure", state)
	}
	t.put(e, "section", section)
	t.put(e, "option", option)
	if n := t.arg("value"); n != nil {
		e.setText("value", t.text(n))
	}
	t.put(e, "values", t.arg("values"))
	if n := t.arg("exclusive"); n != nil {
		t.putBool(e, "exclusive", n)
	}
	separator := " = "
	if b, _ := boolOf(t.arg("no_extra_spaces")); b {
		separator = "="
	}
	if v := e.get("ensure"); v == nil {
		e.setText("separator", separator)
		if b, given := boolOf(t.arg("create")); !given || b {
			e.set("create", boolNode(true))
			for _, key := range []string{"owner", "group"} {
				t.put(e, key, t.arg(key))
			}
			t.putMode(e, t.arg("mode"))
		}
	}
	t.put(e, "validate", t.arg("validate"))
	t.write(e)
}

func mountTask(t *task, r row) {
	t.checkArgs(r)
	e := &entry{typ: "mount", name: t.place(t.arg("path", "name"))}
	if state := t.oneOf(t.arg("state"), map[string]string{"mounted": "mounted", "unmounted": "unmounted", "present": "present", "absent": "absent"}); state != "" {
		e.setText("ensure", state)
	}
	t.put(e, "device", t.arg("src"))
	t.put(e, "fstype", t.arg("fstype"))
	if n := t.arg("opts"); n != nil {
		switch {
		case hasJinja(n):
			x := soleExpr(n)
			if x == nil {
				t.problem("opts of mount with an expression in them")
				return
			}
			v, err := t.w.write(x)
			t.fail(err)
			e.setText("options", "{{ split("+v.text+", ',') }}")
		default:
			e.set("options", textsNode(strings.Split(n.Value, ",")...))
		}
	}
	for property, name := range map[string]string{"dump": "dump", "pass": "passno"} {
		t.put(e, property, t.arg(name))
	}
	t.put(e, "fstab", t.arg("fstab"))
	t.write(e)
}

func sysctlTask(t *task, r row) {
	t.checkArgs(r)
	name := t.arg("name")
	if name == nil {
		t.problem("sysctl without a name")
		return
	}
	e := &entry{typ: "sysctl", name: t.text(name)}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.setText("ensure", state)
	}
	if n := t.arg("value"); n != nil {
		e.setText("value", t.text(n))
	}
	path := "/etc/sysctl.conf" // as Ansible has it
	if n := t.arg("sysctl_file"); n != nil {
		path = t.place(n)
	}
	e.setText("path", path)
	if b, ok := boolOf(t.arg("reload")); ok && !b {
		if set, _ := boolOf(t.arg("sysctl_set")); !set {
			e.set("runtime", boolNode(false))
		}
	}
	t.write(e)
}

func keyTask(t *task, r row) {
	t.checkArgs(r)
	user, key := t.arg("user"), t.arg("key")
	if user == nil || key == nil {
		t.problem("authorized_key without user and key")
		return
	}
	if strings.HasPrefix(key.Value, "http") {
		t.problem("a key behind a URL")
		return
	}
	if !hasJinja(key) && strings.Contains(strings.TrimSpace(key.Value), "\n") {
		t.problem("several keys: write a resource for each")
		return
	}
	e := &entry{typ: "authorized_key", name: "key of " + t.text(user)}
	if t.isLoop() {
		e.name = "key of " + t.text(user) + ": " + t.text(key)
	}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.setText("ensure", state)
	}
	e.setText("user", t.text(user))
	e.setText("key", t.text(&yaml.Node{Kind: yaml.ScalarNode, Tag: key.Tag, Value: strings.TrimSpace(key.Value)}))
	if n := t.arg("key_options"); n != nil {
		if hasJinja(n) || strings.Contains(n.Value, `"`) {
			t.problem("key_options that are an expression, or have quotes")
			return
		}
		e.set("options", textsNode(strings.Split(n.Value, ",")...))
	}
	if b, ok := boolOf(t.arg("exclusive")); !ok || b {
		t.putBool(e, "exclusive", t.arg("exclusive"))
	}
	t.put(e, "path", t.arg("path"))
	t.write(e)
}

func assertTask(t *task, r row) {
	t.checkArgs(r)
	that := t.args["that"]
	if that == nil {
		t.problem("assert without that")
		return
	}
	list, err := t.w.conditions(that)
	if err != nil {
		t.fail(err)
		return
	}
	e := &entry{typ: "assert", name: escape(t.name)}
	if t.name == "" {
		e.name = strings.NewReplacer("{{", "", "}}", "").Replace(list[0].Value)
	}
	if t.isLoop() {
		e.name += " {{ Item }}"
	}
	var conditions []string
	for _, n := range list {
		conditions = append(conditions, "{{ "+n.Value+" }}")
	}
	e.set("that", textsNode(conditions...))
	if n := t.arg("fail_msg", "msg"); n != nil {
		text, ok := t.message(n)
		if !ok {
			return
		}
		message, err := t.w.text(text)
		t.fail(err)
		e.setText("message", message)
	}
	if j2.HasTags(t.name) {
		e.name = t.name
	}
	t.write(e)
}

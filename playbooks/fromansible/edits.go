package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func replaceTask(t *task) {
	t.checkArgs()
	e := &layout.Entry{Type: "replace"}
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

func iniTask(t *task) {
	t.checkArgs()
	e := &layout.Entry{Type: "ini"}
	option, section := t.arg("option"), t.arg("section")
	path := t.place(t.arg("path", "dest"))
	words := []string{path}
	for _, n := range []*yaml.Node{section, option} {
		if n != nil {
			words = append(words, t.text(n))
		}
	}
	e.Name = strings.Join(words, " ")
	e.SetText("path", path)
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.put(e, "section", section)
	t.put(e, "option", option)
	if n := t.arg("value"); n != nil {
		e.SetText("value", t.text(n))
	}
	t.put(e, "values", t.arg("values"))
	if n := t.arg("exclusive"); n != nil {
		t.putBool(e, "exclusive", n)
	}
	separator := " = "
	if b, _ := yamlnode.BoolOf(t.arg("no_extra_spaces")); b {
		separator = "="
	}
	if v := e.Get("ensure"); v == nil {
		e.SetText("separator", separator)
		if b, given := yamlnode.BoolOf(t.arg("create")); !given || b {
			e.Set("create", yamlnode.Bool(true))
			for _, key := range []string{"owner", "group"} {
				t.put(e, key, t.arg(key))
			}
			t.putMode(e, t.arg("mode"))
		}
	}
	t.put(e, "validate", t.arg("validate"))
	t.write(e)
}

func mountTask(t *task) {
	t.checkArgs()
	e := &layout.Entry{Type: "mount", Name: t.place(t.arg("path", "name"))}
	if state := t.oneOf(t.arg("state"), map[string]string{"mounted": "mounted", "unmounted": "unmounted", "present": "present", "absent": "absent"}); state != "" {
		e.SetText("ensure", state)
	}
	t.put(e, "device", t.arg("src"))
	t.put(e, "fstype", t.arg("fstype"))
	if n := t.arg("opts"); n != nil {
		switch {
		case yamlnode.HasJinja(n):
			x := expression.SoleExpr(n)
			if x == nil {
				t.problem("opts of mount with an expression in them")
				return
			}
			v, err := t.w.Write(x)
			t.fail(err)
			e.SetText("options", "{{ split("+v.Text+", ',') }}")
		default:
			e.Set("options", yamlnode.Texts(strings.Split(n.Value, ",")...))
		}
	}
	for property, name := range map[string]string{"dump": "dump", "pass": "passno"} {
		t.put(e, property, t.arg(name))
	}
	t.put(e, "fstab", t.arg("fstab"))
	t.write(e)
}

func sysctlTask(t *task) {
	t.checkArgs()
	name := t.arg("name")
	if name == nil {
		t.problem("sysctl without a name")
		return
	}
	e := &layout.Entry{Type: "sysctl", Name: t.text(name)}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	if n := t.arg("value"); n != nil {
		e.SetText("value", t.text(n))
	}
	path := "/etc/sysctl.conf" // as Ansible has it
	if n := t.arg("sysctl_file"); n != nil {
		path = t.place(n)
	}
	e.SetText("path", path)
	if b, ok := yamlnode.BoolOf(t.arg("reload")); ok && !b {
		if set, _ := yamlnode.BoolOf(t.arg("sysctl_set")); !set {
			e.Set("runtime", yamlnode.Bool(false))
		}
	}
	t.write(e)
}

func keyTask(t *task) {
	t.checkArgs()
	user, key := t.arg("user"), t.arg("key")
	if user == nil || key == nil {
		t.problem("authorized_key without user and key")
		return
	}
	if strings.HasPrefix(key.Value, "http") {
		t.problem("a key behind a URL")
		return
	}
	if !yamlnode.HasJinja(key) && strings.Contains(strings.TrimSpace(key.Value), "\n") {
		t.problem("several keys: write a resource for each")
		return
	}
	e := &layout.Entry{Type: "authorized_key", Name: "key of " + t.text(user)}
	if t.isLoop() {
		e.Name = "key of " + t.text(user) + ": " + t.text(key)
	}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	e.SetText("user", t.text(user))
	e.SetText("key", t.text(&yaml.Node{Kind: yaml.ScalarNode, Tag: key.Tag, Value: strings.TrimSpace(key.Value)}))
	if n := t.arg("key_options"); n != nil {
		if yamlnode.HasJinja(n) || strings.Contains(n.Value, `"`) {
			t.problem("key_options that are an expression, or have quotes")
			return
		}
		e.Set("options", yamlnode.Texts(strings.Split(n.Value, ",")...))
	}
	if b, ok := yamlnode.BoolOf(t.arg("exclusive")); !ok || b {
		t.putBool(e, "exclusive", t.arg("exclusive"))
	}
	t.put(e, "path", t.arg("path"))
	t.write(e)
}

func assertTask(t *task) {
	t.checkArgs()
	that := t.args["that"]
	if that == nil {
		t.problem("assert without that")
		return
	}
	list, err := t.w.Conditions(that)
	if err != nil {
		t.fail(err)
		return
	}
	e := &layout.Entry{Type: "assert", Name: expression.Escape(t.name)}
	if t.name == "" {
		e.Name = strings.NewReplacer("{{", "", "}}", "").Replace(list[0].Value)
	}
	if t.isLoop() {
		e.Name += " {{ Item }}"
	}
	var conditions []string
	for _, n := range list {
		conditions = append(conditions, "{{ "+n.Value+" }}")
	}
	e.Set("that", yamlnode.Texts(conditions...))
	if n := t.arg("fail_msg", "msg"); n != nil {
		text, ok := t.message(n)
		if !ok {
			return
		}
		message, err := t.w.Text(text)
		t.fail(err)
		e.SetText("message", message)
	}
	if j2.HasTags(t.name) {
		e.Name = t.name
	}
	t.write(e)
}

package module

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func userTask(t *task.Task) {
	n := t.Arg("name", "user")
	if n == nil {
		t.Problem("user without a name")
		return
	}
	e := &layout.Entry{Type: "user", Name: t.Text(n)}
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" {
		e.SetText("ensure", state)
	}
	for _, key := range []string{"uid", "comment", "shell", "home", "group"} {
		t.Put(e, key, t.Arg(key))
		if v := e.Get(key); key == "home" && v != nil && len(v.Value) > 1 {
			v.Value = strings.TrimRight(v.Value, "/")
		}
	}
	if n := t.Arg("groups"); n != nil {
		switch {
		case n.Kind == yaml.SequenceNode || yamlnode.HasJinja(n) && !strings.Contains(n.Value, ","):
			t.Put(e, "groups", n)
		case yamlnode.HasJinja(n):
			t.Problem("groups with expressions and commas: write a list")
		default:
			list := yamlnode.Texts(yamlnode.Names(n)...)
			list.Style = yaml.FlowStyle
			e.Set("groups", list)
		}
	}
	for property, n := range map[string]*yaml.Node{"append": t.Arg("append"), "system": t.Arg("system"), "create_home": t.Arg("create_home", "createhome"), "password_lock": t.Arg("password_lock"), "remove_home": t.Arg("remove")} {
		if b, ok := yamlnode.BoolOf(n); ok && !b && property != "create_home" && property != "password_lock" {
			continue
		}
		t.PutBool(e, property, n)
	}
	if n := t.Arg("password"); n != nil {
		t.Put(e, "password_hash", n)
		if !yamlnode.HasJinja(n) && !strings.HasPrefix(n.Value, "$") && !strings.HasPrefix(n.Value, "!") && n.Value != "*" && n.Tag != "!vault" {
			t.Problem("a password that is no hash")
		}
	}
	sortProperties(e)
	t.Write(e)
}

// sortProperties puts properties that come out of a map into an order.
func sortProperties(e *layout.Entry) {
	order := []string{"each", "ensure", "uid", "gid", "system", "comment", "shell", "home", "create_home", "group", "groups", "append", "password_hash", "password_lock", "remove_home"}
	rank := func(key string) int {
		for i, k := range order {
			if k == key {
				return i
			}
		}
		return len(order)
	}
	for i := 1; i < len(e.Props); i++ {
		for j := i; j > 0 && rank(e.Props[j].Key) < rank(e.Props[j-1].Key); j-- {
			e.Props[j], e.Props[j-1] = e.Props[j-1], e.Props[j]
		}
	}
}

func groupTask(t *task.Task) {
	n := t.Arg("name")
	if n == nil {
		t.Problem("group without a name")
		return
	}
	e := &layout.Entry{Type: "group", Name: t.Text(n)}
	state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if state == "" {
		state = "present"
	}
	e.SetText("ensure", state)
	t.Put(e, "gid", t.Arg("gid"))
	if b, ok := yamlnode.BoolOf(t.Arg("system")); !ok || b {
		t.PutBool(e, "system", t.Arg("system"))
	}
	t.Write(e)
}

func keyTask(t *task.Task) {
	user, key := t.Arg("user"), t.Arg("key")
	if user == nil || key == nil {
		t.Problem("authorized_key without user and key")
		return
	}
	if strings.HasPrefix(key.Value, "http") {
		t.Problem("a key behind a URL")
		return
	}
	if !yamlnode.HasJinja(key) && strings.Contains(strings.TrimSpace(key.Value), "\n") {
		t.Problem("several keys: write a resource for each")
		return
	}
	e := &layout.Entry{Type: "authorized_key", Name: "key of " + t.Text(user)}
	if t.IsLoop() {
		e.Name = "key of " + t.Text(user) + ": " + t.Text(key)
	}
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	e.SetText("user", t.Text(user))
	e.SetText("key", t.Text(&yaml.Node{Kind: yaml.ScalarNode, Tag: key.Tag, Value: strings.TrimSpace(key.Value)}))
	if n := t.Arg("key_options"); n != nil {
		if yamlnode.HasJinja(n) || strings.Contains(n.Value, `"`) {
			t.Problem("key_options that are an expression, or have quotes")
			return
		}
		e.Set("options", yamlnode.Texts(strings.Split(n.Value, ",")...))
	}
	if b, ok := yamlnode.BoolOf(t.Arg("exclusive")); !ok || b {
		t.PutBool(e, "exclusive", t.Arg("exclusive"))
	}
	t.Put(e, "path", t.Arg("path"))
	t.Write(e)
}

// sudoersTask writes the one rule that the module makes of its arguments.
func sudoersTask(t *task.Task) {
	e := entryOf(t, "sudoers")
	if e == nil {
		return
	}
	t.Put(e, "path", t.Arg("sudoers_path"))
	if state := t.OneOf(t.Arg("state"), presence); state == "absent" {
		e.SetText("ensure", state)
		t.Write(e)
		return
	}
	who := ""
	switch user, group := t.Arg("user"), t.Arg("group"); {
	case user != nil:
		who = t.Text(user)
	case group != nil:
		who = "%" + t.Text(group)
	default:
		t.Problem("sudoers without user and group")
		return
	}
	rule := who + " " + textOr(t, t.Arg("host"), "ALL") + "="
	if n := t.Arg("runas"); n != nil {
		rule += "(" + t.Text(n) + ")"
	}
	for _, tag := range []struct {
		arg, word string
		given     bool
	}{{"noexec", "NOEXEC:", false}, {"nopassword", "NOPASSWD:", true}, {"setenv", "SETENV:", false}} {
		is, literal := tag.given, true
		if n := t.Arg(tag.arg); n != nil {
			is, literal = yamlnode.BoolOf(n)
		}
		if !literal {
			t.Problem("%s of sudoers that is an expression", tag.arg)
			return
		}
		if is {
			rule += tag.word
		}
	}
	commands := commands(t, t.Arg("commands"))
	if commands == "" {
		t.Problem("sudoers without commands")
		return
	}
	e.Set("rules", yamlnode.Texts(rule+" "+commands))
	t.Write(e)
}

// textOr is an argument as a text, or another one if it is not given.
func textOr(t *task.Task, n *yaml.Node, otherwise string) string {
	if n == nil {
		return otherwise
	}
	return t.Text(n)
}

// commands are those of a rule, one or a list.
func commands(t *task.Task, n *yaml.Node) string {
	if n == nil || n.Kind != yaml.SequenceNode {
		return t.Text(n)
	}
	all := make([]string, len(n.Content))
	for i, one := range n.Content {
		all[i] = t.Text(one)
	}
	return strings.Join(all, ", ")
}

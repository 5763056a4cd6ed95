package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// namedTask is a task of which a name is all.
func namedTask(typ string) func(t *task) {
	return func(t *task) {
		t.checkArgs()
		if e := t.entryOf(typ); e != nil {
			t.write(e)
		}
	}
}

// entryOf is an entry that is called as the argument name says.
func (t *task) entryOf(typ string) *layout.Entry {
	n := t.arg("name")
	if n == nil {
		t.problem("%s without a name", t.module)
		return nil
	}
	return &layout.Entry{Type: typ, Name: t.text(n)}
}

var presence = map[string]string{"present": "present", "absent": "absent"}

func modprobeTask(t *task) {
	t.checkArgs()
	e := t.entryOf("kmod")
	if e == nil {
		return
	}
	state := t.oneOf(t.arg("state"), presence)
	if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	if n := t.arg("params"); n != nil && n.Value != "" {
		if yamlnode.HasJinja(n) {
			t.problem("params of modprobe that are an expression")
			return
		}
		e.Set("parameters", yamlnode.Texts(strings.Fields(n.Value)...))
	}
	// Ansible says nothing of the boot unless it is asked to.
	if persistent := t.oneOf(t.arg("persistent"), map[string]string{"present": "present", "absent": "absent", "disabled": "absent"}); persistent != "present" && state != "absent" {
		e.Set("persist", yamlnode.Bool(false))
	}
	t.write(e)
}

func blacklistTask(t *task) {
	t.checkArgs()
	e := t.entryOf("kmod")
	if e == nil {
		return
	}
	if n := t.arg("state"); n != nil && n.Value != "present" {
		t.problem("kernel_blacklist with a state other than present")
		return
	}
	e.SetText("ensure", "absent")
	e.Set("blacklist", yamlnode.Bool(true))
	t.write(e)
}

// sudoersTask writes the one rule that the module makes of its arguments.
func sudoersTask(t *task) {
	t.checkArgs()
	e := t.entryOf("sudoers")
	if e == nil {
		return
	}
	t.put(e, "path", t.arg("sudoers_path"))
	if state := t.oneOf(t.arg("state"), presence); state == "absent" {
		e.SetText("ensure", state)
		t.write(e)
		return
	}
	who := ""
	switch user, group := t.arg("user"), t.arg("group"); {
	case user != nil:
		who = t.text(user)
	case group != nil:
		who = "%" + t.text(group)
	default:
		t.problem("sudoers without user and group")
		return
	}
	rule := who + " " + t.textOr(t.arg("host"), "ALL") + "="
	if n := t.arg("runas"); n != nil {
		rule += "(" + t.text(n) + ")"
	}
	for _, tag := range []struct {
		arg, word string
		given     bool
	}{{"noexec", "NOEXEC:", false}, {"nopassword", "NOPASSWD:", true}, {"setenv", "SETENV:", false}} {
		is, literal := tag.given, true
		if n := t.arg(tag.arg); n != nil {
			is, literal = yamlnode.BoolOf(n)
		}
		if !literal {
			t.problem("%s of sudoers that is an expression", tag.arg)
			return
		}
		if is {
			rule += tag.word
		}
	}
	commands := t.commands(t.arg("commands"))
	if commands == "" {
		t.problem("sudoers without commands")
		return
	}
	e.Set("rules", yamlnode.Texts(rule+" "+commands))
	t.write(e)
}

// textOr is an argument as a text, or another one if it is not given.
func (t *task) textOr(n *yaml.Node, otherwise string) string {
	if n == nil {
		return otherwise
	}
	return t.text(n)
}

// commands are those of a rule, one or a list.
func (t *task) commands(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.SequenceNode {
		return t.text(n)
	}
	all := make([]string, len(n.Content))
	for i, one := range n.Content {
		all[i] = t.text(one)
	}
	return strings.Join(all, ", ")
}

// rebootTask restarts in each run, as with Ansible; a handler is given another condition.
func rebootTask(t *task) {
	t.checkArgs()
	name := "restart"
	if n := t.arg("msg"); n != nil {
		name = t.text(n)
	} else if t.name != "" {
		name = t.name
	}
	e := &layout.Entry{Type: "reboot", Name: name}
	e.SetText("when", "always")
	if n := t.arg("reboot_timeout"); n != nil {
		e.SetText("timeout", t.text(n)+"s")
	}
	t.write(e)
}

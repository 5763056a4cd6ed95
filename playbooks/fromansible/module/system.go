package module

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// namedTask is a task of which a name is all.
func namedTask(typ string) func(t *task.Task) {
	return func(t *task.Task) {
		if e := entryOf(t, typ); e != nil {
			t.Write(e)
		}
	}
}

// entryOf is an entry that is called as the argument name says.
func entryOf(t *task.Task, typ string) *layout.Entry {
	n := t.Arg("name")
	if n == nil {
		t.Problem("%s without a name", t.Module)
		return nil
	}
	return &layout.Entry{Type: typ, Name: t.Text(n)}
}

var presence = map[string]string{"present": "present", "absent": "absent"}

// localeTask may name several locales.
func localeTask(t *task.Task) {
	names := yamlnode.Items(t.Arg("name"))
	if n := t.Arg("name"); n != nil && n.Kind == yaml.ScalarNode {
		names = []*yaml.Node{n}
	}
	if len(names) != 1 {
		t.Problem("locale_gen with %d locales; write a resource for each", len(names))
		return
	}
	e := &layout.Entry{Type: "locale", Name: t.Text(names[0])}
	if state := t.OneOf(t.Arg("state"), presence); state == "absent" {
		e.SetText("ensure", state)
	}
	t.Write(e)
}

func modprobeTask(t *task.Task) {
	e := entryOf(t, "kmod")
	if e == nil {
		return
	}
	state := t.OneOf(t.Arg("state"), presence)
	if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	if n := t.Arg("params"); n != nil && n.Value != "" {
		if yamlnode.HasJinja(n) {
			t.Problem("params of modprobe that are an expression")
			return
		}
		e.Set("parameters", yamlnode.Texts(strings.Fields(n.Value)...))
	}
	// Ansible says nothing of the boot unless it is asked to.
	if persistent := t.OneOf(t.Arg("persistent"), map[string]string{"present": "present", "absent": "absent", "disabled": "absent"}); persistent != "present" && state != "absent" {
		e.Set("persist", yamlnode.Bool(false))
	}
	t.Write(e)
}

func blacklistTask(t *task.Task) {
	e := entryOf(t, "kmod")
	if e == nil {
		return
	}
	if n := t.Arg("state"); n != nil && n.Value != "present" {
		t.Problem("kernel_blacklist with a state other than present")
		return
	}
	e.SetText("ensure", "absent")
	e.Set("blacklist", yamlnode.Bool(true))
	t.Write(e)
}

// rebootTask restarts in each run, as with Ansible; a handler is given another condition.
func rebootTask(t *task.Task) {
	name := "restart"
	if n := t.Arg("msg"); n != nil {
		name = t.Text(n)
	} else if t.Name != "" {
		name = t.Name
	}
	e := &layout.Entry{Type: "reboot", Name: name}
	e.SetText("when", "always")
	if n := t.Arg("reboot_timeout"); n != nil {
		e.SetText("timeout", t.Text(n)+"s")
	}
	t.Write(e)
}

func mountTask(t *task.Task) {
	e := &layout.Entry{Type: "mount", Name: t.Place(t.Arg("path", "name"))}
	if state := t.OneOf(t.Arg("state"), map[string]string{"mounted": "mounted", "unmounted": "unmounted", "present": "present", "absent": "absent"}); state != "" {
		e.SetText("ensure", state)
	}
	t.Put(e, "device", t.Arg("src"))
	t.Put(e, "fstype", t.Arg("fstype"))
	if n := t.Arg("opts"); n != nil {
		switch {
		case yamlnode.HasJinja(n):
			x := expression.SoleExpr(n)
			if x == nil {
				t.Problem("opts of mount with an expression in them")
				return
			}
			v, err := t.W.Write(x)
			t.Fail(err)
			e.SetText("options", "{{ split("+v.Text+", ',') }}")
		default:
			e.Set("options", yamlnode.Texts(strings.Split(n.Value, ",")...))
		}
	}
	t.Put(e, "dump", t.Arg("dump"))
	t.Put(e, "pass", t.Arg("passno"))
	t.Put(e, "fstab", t.Arg("fstab"))
	t.Write(e)
}

func sysctlTask(t *task.Task) {
	name := t.Arg("name")
	if name == nil {
		t.Problem("sysctl without a name")
		return
	}
	e := &layout.Entry{Type: "sysctl", Name: t.Text(name)}
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	if n := t.Arg("value"); n != nil {
		e.SetText("value", t.Text(n))
	}
	path := "/etc/sysctl.conf" // as Ansible has it
	if n := t.Arg("sysctl_file"); n != nil {
		path = t.Place(n)
	}
	e.SetText("path", path)
	if b, ok := yamlnode.BoolOf(t.Arg("reload")); ok && !b {
		if set, _ := yamlnode.BoolOf(t.Arg("sysctl_set")); !set {
			e.Set("runtime", yamlnode.Bool(false))
		}
	}
	t.Write(e)
}

func alternativesTask(t *task.Task) {
	e := entryOf(t, "alternatives")
	if e == nil {
		return
	}
	state := t.OneOf(t.Arg("state"), map[string]string{"selected": "selected", "present": "present", "auto": "auto", "absent": "absent"})
	if state != "" && state != "selected" {
		e.SetText("ensure", state)
	}
	for _, property := range []string{"path", "link", "priority"} {
		t.Put(e, property, t.Arg(property))
	}
	t.Write(e)
}

func selinuxTask(t *task.Task) {
	state := t.OneOf(t.Arg("state"), map[string]string{"enforcing": "enforcing", "permissive": "permissive", "disabled": "disabled"})
	if state == "" {
		t.Problem("selinux without a state that is written there")
		return
	}
	e := &layout.Entry{Type: "selinux", Name: state}
	t.Put(e, "policy", t.Arg("policy"))
	t.Write(e)
}

// sebooleanTask has a boolean that Ansible turns on now alone, unless it is asked for more.
func sebooleanTask(t *task.Task) {
	e := entryOf(t, "seboolean")
	if e == nil {
		return
	}
	t.PutBool(e, "value", t.Arg("state"))
	if n := t.Arg("persistent"); n != nil && yamlnode.HasJinja(n) {
		t.PutBool(e, "persistent", n)
	} else if persistent, _ := yamlnode.BoolOf(n); !persistent {
		e.Set("persistent", yamlnode.Bool(false))
	}
	t.Write(e)
}

func fcontextTask(t *task.Task) {
	target := t.Arg("target", "path")
	if target == nil {
		t.Problem("sefcontext without a target")
		return
	}
	e := &layout.Entry{Type: "fcontext", Name: t.Text(target)}
	if state := t.OneOf(t.Arg("state"), presence); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	if n := t.Arg("ftype"); n != nil && n.Value != "a" {
		t.Put(e, "ftype", n)
	}
	t.Put(e, "type", t.Arg("setype"))
	t.Put(e, "user", t.Arg("seuser"))
	t.Put(e, "range", t.Arg("selevel", "serange"))
	t.Write(e)
}

// seportTask may name several ports.
func seportTask(t *task.Task) {
	proto := t.OneOf(t.Arg("proto"), map[string]string{"tcp": "tcp", "udp": "udp"})
	if proto == "" {
		t.Problem("seport without a proto that is written there")
		return
	}
	var ports []string
	for _, n := range yamlnode.Items(t.Arg("ports")) {
		if yamlnode.HasJinja(n) {
			ports = append(ports, t.Text(n))
			continue
		}
		for port := range strings.SplitSeq(n.Value, ",") {
			ports = append(ports, strings.TrimSpace(port))
		}
	}
	if len(ports) == 0 {
		t.Problem("seport without ports")
		return
	}
	write := t.Write
	for _, port := range ports {
		e := &layout.Entry{Type: "seport", Name: port + "/" + proto}
		if state := t.OneOf(t.Arg("state"), presence); state != "" && state != "present" {
			e.SetText("ensure", state)
		}
		t.Put(e, "type", t.Arg("setype"))
		write(e)
		write = t.Extra
	}
}

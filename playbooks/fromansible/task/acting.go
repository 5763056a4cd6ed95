package task

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// become writes who acts. What is done as root is done so by all of the play.
func become(t *Task, n *yaml.Node) {
	user := t.Around.BecomeUser
	if u := t.Keywords["become_user"]; u != nil {
		user = u.Value
	}
	if n != nil {
		b, ok := yamlnode.BoolOf(n)
		switch {
		case yamlnode.HasJinja(n):
			t.Note("become is an expression; the play decides")
		case !ok:
			t.Problem("become: %s", n.Value)
			return
		case !b && !onController(t):
			t.Note("become: false; all of a play is done as one user")
			t.Problem("become: false at a task: a play has one user")
			return
		case !b:
			return
		}
		t.File.Became = true
	}
	if user == "" || user == "root" || t.Main == nil {
		return
	}
	switch {
	case t.Main.Type == "exec" || t.Main.Type == "git":
		text, err := t.W.Text(user)
		t.Fail(err)
		t.Main.SetText("user", text)
	case t.Main.Type == "package" && t.Main.Get("provider") != nil: // of pip or npm
		text, err := t.W.Text(user)
		t.Fail(err)
		for _, e := range t.Entries {
			e.SetText("user", text)
		}
	case t.Main.Get("owner") != nil && t.Main.Get("group") != nil:
	default:
		t.Problem("become_user at a resource of type %s, which has no owner and group", t.Main.Type)
	}
}

func onController(t *Task) bool {
	n := t.Keywords["delegate_to"]
	return n != nil && IsLocalhost(n.Value) || t.Around.Delegated
}

func IsLocalhost(name string) bool { return name == "localhost" || name == "127.0.0.1" }

func delegate(t *Task, n *yaml.Node) {
	if n == nil {
		return
	}
	name := "controller"
	if !IsLocalhost(n.Value) {
		var err error
		if name, err = t.W.Text(n.Value); err != nil {
			t.Fail(err)
			return
		}
	}
	for _, e := range t.Entries {
		if e.Type == "apply" {
			t.Problem("delegate_to at tasks that are included: a block can have it")
			return
		}
		if e.Told(name, func(text string) bool { return role.FromHost(text, t.File) }) {
			t.Problem("delegate_to with a name or properties that a host has sent")
			return
		}
		e.SetText("on", name)
	}
}

func once(t *Task, n *yaml.Node) {
	b, ok := yamlnode.BoolOf(n)
	switch {
	case !ok:
		t.Problem("run_once that is an expression")
	case b:
		for _, e := range t.Entries {
			if e.Type == "apply" {
				t.Problem("run_once at tasks that are included: a block can have it")
				return
			}
			e.Set("once", yamlnode.Bool(true))
		}
	}
}

// withoutPrograms are types that start no programs to which an environment could matter.
var withoutPrograms = []string{
	"service", "file", "link", "user", "group", "line", "cron", "replace", "ini", "authorized_key", "known_host", "sysctl", "mount", "swap", "hostname", "timezone", "locale", "kmod", "sudoers", "alternatives", "firewall", "tls_key", "tls_cert", "selinux", "seboolean", "fcontext", "seport", "reboot", "fetch", "assert", "wait",
}

// environment writes variables of the environment, for commands.
func environment(t *Task, n *yaml.Node) {
	var list []*yaml.Node
	for _, from := range []*yaml.Node{t.Around.Environment, n} {
		for _, one := range yamlnode.Items(from) {
			if x := expression.SoleExpr(one); x != nil && t.Main != nil && t.Main.Type == "exec" && len(yamlnode.Items(from)) == 1 && (t.Around.Environment == nil || n == nil) {
				v, err := t.W.Write(x)
				t.Fail(err)
				t.Main.SetText("environment", "{{ map(toPairs("+v.Text+"), #[0] + '=' + string(#[1])) }}")
				return
			}
			if one.Kind != yaml.MappingNode {
				if t.Main == nil || t.Main.Type != "apply" {
					t.Problem("an environment that is an expression")
				}
				return
			}
			for i := 0; i+1 < len(one.Content); i += 2 {
				text, err := t.W.Text(one.Content[i+1].Value)
				t.Fail(err)
				list = append(list, yamlnode.Text(one.Content[i].Value+"="+text))
			}
		}
	}
	switch {
	case t.Main == nil || len(list) == 0:
	case t.Main.Type == "exec":
		t.Main.Set("environment", yamlnode.List(list...))
	case slices.Contains(withoutPrograms, t.Main.Type):
		t.Note("environment; it means nothing to a resource of type %s", t.Main.Type)
	default:
		t.Problem("environment at a resource of type %s", t.Main.Type)
	}
}

func throttle(t *Task, n *yaml.Node) {
	if t.Main == nil || n.Value == "0" {
		return
	}
	text, err := t.W.Text(n.Value)
	t.Fail(err)
	name := strings.Join(strings.FieldsFunc(strings.ToLower(t.Name), func(r rune) bool { return r < 'a' || r > 'z' }), "-")
	if name == "" {
		name = t.Module
	}
	t.Main.Set("sema", yamlnode.List(yamlnode.Text(name+":"+text)))
}

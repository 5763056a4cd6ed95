package module

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func nothingTask(t *task.Task) {
	if t.Keywords["register"] != nil {
		t.Problem("the result of the module %s", t.Module)
	}
	t.Nothing("facts that are mentioned are asked for, and a host that cannot be reached is reported")
}

func assertTask(t *task.Task) {
	that := t.Args["that"]
	if that == nil {
		t.Problem("assert without that")
		return
	}
	list, err := t.W.Conditions(that)
	if err != nil {
		t.Fail(err)
		return
	}
	e := &layout.Entry{Type: "assert", Name: expression.Escape(t.Name)}
	if t.Name == "" {
		e.Name = strings.NewReplacer("{{", "", "}}", "").Replace(list[0].Value)
	}
	if t.IsLoop() {
		e.Name += " {{ Item }}"
	}
	var conditions []string
	for _, n := range list {
		conditions = append(conditions, "{{ "+n.Value+" }}")
	}
	e.Set("that", yamlnode.Texts(conditions...))
	if n := t.Arg("fail_msg", "msg"); n != nil {
		text, ok := message(t, n)
		if !ok {
			return
		}
		message, err := t.W.Text(text)
		t.Fail(err)
		e.SetText("message", message)
	}
	if j2.HasTags(t.Name) {
		e.Name = t.Name
	}
	t.Write(e)
}

// failTask is an assertion that never holds.
func failTask(t *task.Task) {
	msg := t.Arg("msg")
	if msg == nil {
		msg = yamlnode.Text("failed as requested")
	}
	text, ok := message(t, msg)
	if !ok {
		return
	}
	e := t.Named("assert", text)
	that := yamlnode.List(yamlnode.Bool(false))
	that.Style = yaml.FlowStyle
	e.Set("that", that)
	message, err := t.W.Text(text)
	t.Fail(err)
	if message != e.Name {
		e.SetText("message", message)
	}
	t.Write(e)
}

// saying writes a command that prints a text.
func saying(t *task.Task, msg *yaml.Node) {
	text, ok := message(t, msg)
	if !ok {
		return
	}
	quoted, err := quotedText(t, text)
	t.Fail(err)
	e := t.Named("exec", text)
	e.SetText("command", "echo "+quoted)
	e.SetText("provider", "shell")
	e.Set("readonly", yamlnode.Bool(true))
	e.Set("logoutput", yamlnode.Bool(true))
	t.Write(e)
}

// message is a text for people, as it is written for Ansible: one, or a list of lines.
func message(t *task.Task, msg *yaml.Node) (text string, ok bool) {
	if msg.Kind == yaml.ScalarNode {
		return strings.TrimRight(msg.Value, "\n"), true
	}
	var lines []string
	for _, one := range yamlnode.Items(msg) {
		if one.Kind != yaml.ScalarNode {
			t.Problem("a message that is no text")
			return "", false
		}
		lines = append(lines, one.Value)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), true
}

func debugTask(t *task.Task) {
	msg := t.Args["msg"]
	if n := t.Arg("var"); n != nil {
		name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(n.Value), "{{"), "}}"))
		e, err := j2.ParseExpr(name)
		if err != nil {
			t.Problem("debug of %s", name)
			return
		}
		v, err := t.W.Write(e)
		if err != nil {
			t.Fail(err)
			return
		}
		text := v.Text
		if v.Kind != expression.TextKind {
			text = "toJSON(" + v.Text + ")"
		}
		entry := &layout.Entry{Type: "exec", Name: "show " + name}
		if t.IsLoop() {
			t.Problem("debug of a variable in a loop")
		}
		entry.SetText("command", "echo '{{ replace("+text+`, "'", "'\\''") }}'`)
		entry.SetText("provider", "shell")
		entry.Set("readonly", yamlnode.Bool(true))
		entry.Set("logoutput", yamlnode.Bool(true))
		t.Write(entry)
		return
	}
	if msg == nil {
		msg = yamlnode.Text("Hello world!")
	}
	saying(t, msg)
}

// waitTask is a wait for what is there, or no longer there.
func waitTask(t *task.Task) {
	port, path, host, line := t.Arg("port"), t.Arg("path"), t.Arg("host"), t.Arg("search_regex")
	what := ""
	switch {
	case path != nil:
		what = "wait for " + path.Value
	case port != nil:
		what = "wait for port " + port.Value
	}
	e := t.Named("wait", what)
	state := "started"
	if n := t.Arg("state"); n != nil {
		state = n.Value
	}
	switch {
	case port == nil && path == nil || state == "drained" || port != nil && line != nil:
		t.Problem("wait_for without port and path, with what a port says, or until %s", state)
		return
	case path != nil:
		e.SetText("path", t.Place(path))
	default:
		t.Put(e, "port", port)
	}
	if path == nil && host != nil {
		t.Put(e, "host", host)
	}
	putPattern(t, e, "line", line)
	switch state {
	case "started", "present":
	case "stopped", "absent":
		e.SetText("ensure", "absent")
	default:
		t.Problem("wait_for until %s", state)
		return
	}
	if t.Keywords["until"] != nil {
		t.Problem("until of wait_for")
	}
	for _, one := range []struct{ theirs, ours string }{{"timeout", "timeout"}, {"sleep", "interval"}} {
		if n := t.Arg(one.theirs); n != nil {
			if v, err := strconv.Atoi(n.Value); err != nil || v < 1 {
				t.Problem("wait_for with %s that is an expression", one.theirs)
				return
			}
			e.SetText(one.ours, n.Value+"s")
		}
	}
	if n := t.Arg("delay"); n != nil && n.Value != "0" {
		t.Note("delay of wait_for; it is looked at once")
	}
	t.Write(e)
}

func pauseTask(t *task.Task) {
	n, unit := t.Arg("seconds"), ""
	if n == nil {
		n, unit = t.Arg("minutes"), "m"
	}
	if n == nil {
		t.Problem("pause without seconds and minutes: a rollout asks a person")
		return
	}
	e := command(t, "sleep "+t.Text(n)+unit, false)
	e.Set("readonly", yamlnode.Bool(true))
}

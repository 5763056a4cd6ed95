package fromansible

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// shellQuote writes a word for a shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~%=") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func commandTask(t *task) {
	t.checkArgs()
	text := t.free
	if n := t.arg("cmd", "_raw_params"); n != nil && text == "" {
		if n.Kind != yaml.ScalarNode {
			t.problem("a command that is no text")
			return
		}
		text = n.Value
	}
	if n := t.arg("argv"); n != nil {
		words := make([]string, 0, len(n.Content))
		for _, one := range yamlnode.Items(n) {
			word := t.text(one)
			if yamlnode.HasJinja(one) {
				quoted, err := t.quotedText(one.Value)
				t.fail(err)
				words = append(words, quoted)
				continue
			}
			words = append(words, shellQuote(word))
		}
		t.command(strings.Join(words, " "), false)
		return
	}
	if strings.TrimSpace(text) == "" {
		t.problem("%s without a command", t.module)
		return
	}
	text = strings.TrimRight(text, " \n")
	shell := t.module != "command"
	if n := t.arg("executable"); n != nil && n.Value != "/bin/sh" {
		program := t.text(n)
		quoted, err := t.quotedText(text)
		t.fail(err)
		t.command(program+" -c "+quoted, false)
		return
	}
	written, err := t.w.Text(text)
	t.fail(err)
	t.command(written, shell)
}

// quotedText writes a text with expressions as one word for a shell.
func (t *task) quotedText(text string) (string, error) {
	parts, err := t.w.Parts(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Term == nil {
			b.WriteString(expression.Escape(strings.ReplaceAll(p.Text, "'", `'\''`)))
			continue
		}
		value := p.Term.Text
		if p.Term.Kind == expression.NumberKind {
			b.WriteString("{{ " + value + " }}")
			continue
		}
		if p.Term.Kind != expression.TextKind {
			value = "string(" + value + ")"
		}
		b.WriteString("{{ replace(" + value + `, "'", "'\\''") }}`)
	}
	return "'" + b.String() + "'", nil
}

// command writes an exec. It is called as the task is, if that has a name.
func (t *task) command(text string, shell bool) *layout.Entry {
	if _, pipe, _ := strings.Cut(text, "\n"); pipe != "" {
		text += "\n"
	}
	e := &layout.Entry{Type: "exec", Name: t.name}
	switch {
	case e.Name == "" || t.isLoop() && strings.Contains(text, "Item"):
		e.Name = strings.Join(strings.Fields(text), " ")
		if e.Name != text {
			e.SetText("command", text)
		}
	default:
		if t.isLoop() {
			e.Name += " {{ Item }}"
		}
		e.SetText("command", text)
	}
	e.Name = escapeName(e.Name, t.name == e.Name)
	if shell {
		e.SetText("provider", "shell")
	}
	if n := t.arg("chdir"); n != nil {
		e.SetText("cwd", t.place(n))
	}
	if n := t.arg("creates"); n != nil {
		if strings.ContainsAny(n.Value, "*?") && !yamlnode.HasJinja(n) {
			t.problem("creates with a pattern")
		}
		e.SetText("creates", t.place(n))
	}
	if n := t.arg("removes"); n != nil {
		e.SetText("onlyif", "test -e "+shellQuoteText(t.place(n)))
	}
	if strings.Contains(text, "$HOME") || strings.Contains(text, "~/") {
		t.note("a command that needs HOME; exec has it where user is given")
	}
	return t.write(e)
}

// escapeName has the name of a task stand as it is.
func escapeName(name string, literal bool) string {
	if literal {
		return expression.Escape(name)
	}
	return name
}

// shellQuoteText quotes a text that may hold expressions.
func shellQuoteText(s string) string {
	if strings.Contains(s, "{{") {
		return "'" + s + "'"
	}
	return shellQuote(s)
}

// scriptTask puts a script of the play onto the host, and runs it there.
func scriptTask(t *task) {
	t.checkArgs()
	text := t.free
	if n := t.arg("cmd", "_raw_params"); n != nil {
		text = n.Value
	}
	words := splitWords(text)
	if len(words) == 0 || j2.HasTags(words[0]) || t.isLoop() {
		t.problem("a script whose name is an expression, or in a loop")
		return
	}
	found, err := t.c.LocalFile("files", words[0])
	if err != nil {
		t.fail(err)
		return
	}
	path := "/usr/local/sbin/" + strings.ReplaceAll(strings.TrimPrefix(found, "files/"), "/", "-")
	file := &layout.Entry{Type: "file", Name: path}
	file.SetText("source", found)
	file.SetText("mode", "0755")
	t.entries = append(t.entries, file)
	rest, err := t.w.Text(strings.Join(words[1:], " "))
	t.fail(err)
	t.note("script; it stays on the host as %s", path)
	t.command(strings.TrimSpace(path+" "+rest), false)
}

// statTask asks test(1) for what later tasks want to know.
func statTask(t *task) {
	t.checkArgs()
	n := t.arg("path", "dest", "name")
	if n == nil || t.keywords["register"] == nil {
		t.problem("stat without a path, or without register")
		return
	}
	asked := t.result.Asked
	one := expression.StatTest(asked)
	if one == "" {
		t.problem("stat of which several things are asked: %s", strings.Join(asked, ", "))
		return
	}
	path := t.place(n)
	e := &layout.Entry{Type: "exec", Name: "test " + expression.StatTests[one] + " " + shellQuoteText(path)}
	e.Set("readonly", yamlnode.Bool(true))
	returns := yamlnode.List(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	returns.Style = yaml.FlowStyle
	e.Set("returns", returns)
	t.write(e)
}

// failTask is an assertion that never holds.
func failTask(t *task) {
	t.checkArgs()
	msg := t.arg("msg")
	if msg == nil {
		msg = yamlnode.Text("failed as requested")
	}
	text, ok := t.message(msg)
	if !ok {
		return
	}
	e := t.named("assert", text)
	that := yamlnode.List(yamlnode.Bool(false))
	that.Style = yaml.FlowStyle
	e.Set("that", that)
	message, err := t.w.Text(text)
	t.fail(err)
	if message != e.Name {
		e.SetText("message", message)
	}
	t.write(e)
}

// saying writes a command that prints a text.
func (t *task) saying(msg *yaml.Node) {
	text, ok := t.message(msg)
	if !ok {
		return
	}
	quoted, err := t.quotedText(text)
	t.fail(err)
	e := t.named("exec", text)
	e.SetText("command", "echo "+quoted)
	e.SetText("provider", "shell")
	e.Set("readonly", yamlnode.Bool(true))
	e.Set("logoutput", yamlnode.Bool(true))
	t.write(e)
}

// message is a text for people, as it is written for Ansible: one, or a list of lines.
func (t *task) message(msg *yaml.Node) (text string, ok bool) {
	if msg.Kind == yaml.ScalarNode {
		return strings.TrimRight(msg.Value, "\n"), true
	}
	var lines []string
	for _, one := range yamlnode.Items(msg) {
		if one.Kind != yaml.ScalarNode {
			t.problem("a message that is no text")
			return "", false
		}
		lines = append(lines, one.Value)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), true
}

// named is an entry that has the name of the task, or else what it says.
func (t *task) named(typ, text string) *layout.Entry {
	e := &layout.Entry{Type: typ, Name: t.name}
	if e.Name == "" {
		e.Name = strings.Join(strings.Fields(text), " ")
		if j2.HasTags(e.Name) || e.Name == "" {
			e.Name = t.module + " " + strconv.Itoa(t.line())
		}
	}
	if t.isLoop() {
		e.Name += " {{ Item }}"
	} else {
		e.Name = expression.Escape(e.Name)
	}
	return e
}

func debugTask(t *task) {
	t.checkArgs()
	msg := t.args["msg"]
	if n := t.arg("var"); n != nil {
		name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(n.Value), "{{"), "}}"))
		e, err := j2.ParseExpr(name)
		if err != nil {
			t.problem("debug of %s", name)
			return
		}
		v, err := t.w.Write(e)
		if err != nil {
			t.fail(err)
			return
		}
		text := v.Text
		if v.Kind != expression.TextKind {
			text = "toJSON(" + v.Text + ")"
		}
		entry := &layout.Entry{Type: "exec", Name: "show " + name}
		if t.isLoop() {
			t.problem("debug of a variable in a loop")
		}
		entry.SetText("command", "echo '{{ replace("+text+`, "'", "'\\''") }}'`)
		entry.SetText("provider", "shell")
		entry.Set("readonly", yamlnode.Bool(true))
		entry.Set("logoutput", yamlnode.Bool(true))
		t.write(entry)
		return
	}
	if msg == nil {
		msg = yamlnode.Text("Hello world!")
	}
	t.saying(msg)
}

// waitTask is a wait for what is there, or no longer there.
func waitTask(t *task) {
	t.checkArgs()
	port, path, host, line := t.arg("port"), t.arg("path"), t.arg("host"), t.arg("search_regex")
	what := ""
	switch {
	case path != nil:
		what = "wait for " + path.Value
	case port != nil:
		what = "wait for port " + port.Value
	}
	e := t.named("wait", what)
	state := "started"
	if n := t.arg("state"); n != nil {
		state = n.Value
	}
	switch {
	case port == nil && path == nil || state == "drained" || port != nil && line != nil:
		t.problem("wait_for without port and path, with what a port says, or until %s", state)
		return
	case path != nil:
		e.SetText("path", t.place(path))
	default:
		t.put(e, "port", port)
	}
	if path == nil && host != nil {
		t.put(e, "host", host)
	}
	t.putPattern(e, "line", line)
	switch state {
	case "started", "present":
	case "stopped", "absent":
		e.SetText("ensure", "absent")
	default:
		t.problem("wait_for until %s", state)
		return
	}
	if t.keywords["until"] != nil {
		t.problem("until of wait_for")
	}
	for _, one := range []struct{ theirs, ours string }{{"timeout", "timeout"}, {"sleep", "interval"}} {
		if n := t.arg(one.theirs); n != nil {
			if v, err := strconv.Atoi(n.Value); err != nil || v < 1 {
				t.problem("wait_for with %s that is an expression", one.theirs)
				return
			}
			e.SetText(one.ours, n.Value+"s")
		}
	}
	if n := t.arg("delay"); n != nil && n.Value != "0" {
		t.note("delay of wait_for; it is looked at once")
	}
	t.write(e)
}

func pauseTask(t *task) {
	t.checkArgs()
	n, unit := t.arg("seconds"), ""
	if n == nil {
		n, unit = t.arg("minutes"), "m"
	}
	if n == nil {
		t.problem("pause without seconds and minutes: a rollout asks a person")
		return
	}
	e := t.command("sleep "+t.text(n)+unit, false)
	e.Set("readonly", yamlnode.Bool(true))
}

package fromansible

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// shellQuote writes a word for a shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~%=") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func commandTask(t *task, r row) {
	t.checkArgs(r)
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
		for _, one := range items(n) {
			word := t.text(one)
			if hasJinja(one) {
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
	written, err := t.w.text(text)
	t.fail(err)
	t.command(written, shell)
}

// quotedText writes a text with expressions as one word for a shell.
func (t *task) quotedText(text string) (string, error) {
	parts, err := t.w.parts(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.term == nil {
			b.WriteString(escape(strings.ReplaceAll(p.text, "'", `'\''`)))
			continue
		}
		value := p.term.text
		if p.term.kind == numberKind {
			b.WriteString("{{ " + value + " }}")
			continue
		}
		if p.term.kind != textKind {
			value = "string(" + value + ")"
		}
		b.WriteString("{{ replace(" + value + `, "'", "'\\''") }}`)
	}
	return "'" + b.String() + "'", nil
}

// command writes an exec. It is called as the task is, if that has a name.
func (t *task) command(text string, shell bool) *entry {
	if _, pipe, _ := strings.Cut(text, "\n"); pipe != "" {
		text += "\n"
	}
	e := &entry{typ: "exec", name: t.name}
	switch {
	case e.name == "" || t.isLoop() && strings.Contains(text, "Item"):
		e.name = strings.Join(strings.Fields(text), " ")
		if e.name != text {
			e.setText("command", text)
		}
	default:
		if t.isLoop() {
			e.name += " {{ Item }}"
		}
		e.setText("command", text)
	}
	e.name = escapeName(e.name, t.name == e.name)
	if shell {
		e.setText("provider", "shell")
	}
	if n := t.arg("chdir"); n != nil {
		e.setText("cwd", t.place(n))
	}
	if n := t.arg("creates"); n != nil {
		if strings.ContainsAny(n.Value, "*?") && !hasJinja(n) {
			t.problem("creates with a pattern")
		}
		e.setText("creates", t.place(n))
	}
	if n := t.arg("removes"); n != nil {
		e.setText("onlyif", "test -e "+shellQuoteText(t.place(n)))
	}
	if strings.Contains(text, "$HOME") || strings.Contains(text, "~/") {
		t.note("a command that needs HOME; exec has it where user is given")
	}
	return t.write(e)
}

// escapeName has the name of a task stand as it is.
func escapeName(name string, literal bool) string {
	if literal {
		return escape(name)
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
func scriptTask(t *task, r row) {
	t.checkArgs(r)
	text := t.free
	if n := t.arg("cmd", "_raw_params"); n != nil {
		text = n.Value
	}
	words := splitWords(text)
	if len(words) == 0 || j2.HasTags(words[0]) || t.isLoop() {
		t.problem("a script whose name is an expression, or in a loop")
		return
	}
	found, err := t.c.localFile("files", words[0])
	if err != nil {
		t.fail(err)
		return
	}
	path := "/usr/local/sbin/" + strings.ReplaceAll(strings.TrimPrefix(found, "files/"), "/", "-")
	file := &entry{typ: "file", name: path}
	file.setText("source", found)
	file.setText("mode", "0755")
	t.entries = append(t.entries, file)
	rest, err := t.w.text(strings.Join(words[1:], " "))
	t.fail(err)
	t.note("script; it stays on the host as %s", path)
	t.command(strings.TrimSpace(path+" "+rest), false)
}

// statTask asks test(1) for what later tasks want to know.
func statTask(t *task, r row) {
	t.checkArgs(r)
	n := t.arg("path", "dest", "name")
	if n == nil || t.keywords["register"] == nil {
		t.problem("stat without a path, or without register")
		return
	}
	asked := t.result.asked
	one := statTest(asked)
	if one == "" {
		t.problem("stat of which several things are asked: %s", strings.Join(asked, ", "))
		return
	}
	path := t.place(n)
	e := &entry{typ: "exec", name: "test " + statTests[one] + " " + shellQuoteText(path)}
	e.set("readonly", boolNode(true))
	returns := listNode(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	returns.Style = yaml.FlowStyle
	e.set("returns", returns)
	t.write(e)
}

// failTask is an assertion that never holds.
func failTask(t *task, r row) {
	t.checkArgs(r)
	msg := t.arg("msg")
	if msg == nil {
		msg = textNode("failed as requested")
	}
	text, ok := t.message(msg)
	if !ok {
		return
	}
	e := t.named("assert", text)
	that := listNode(boolNode(false))
	that.Style = yaml.FlowStyle
	e.set("that", that)
	message, err := t.w.text(text)
	t.fail(err)
	if message != e.name {
		e.setText("message", message)
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
	e.setText("command", "echo "+quoted)
	e.setText("provider", "shell")
	e.set("readonly", boolNode(true))
	e.set("logoutput", boolNode(true))
	t.write(e)
}

// message is a text for people, as it is written for Ansible: one, or a list of lines.
func (t *task) message(msg *yaml.Node) (text string, ok bool) {
	if msg.Kind == yaml.ScalarNode {
		return strings.TrimRight(msg.Value, "\n"), true
	}
	var lines []string
	for _, one := range items(msg) {
		if one.Kind != yaml.ScalarNode {
			t.problem("a message that is no text")
			return "", false
		}
		lines = append(lines, one.Value)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), true
}

// named is an entry that has the name of the task, or else what it says.
func (t *task) named(typ, text string) *entry {
	e := &entry{typ: typ, name: t.name}
	if e.name == "" {
		e.name = strings.Join(strings.Fields(text), " ")
		if j2.HasTags(e.name) || e.name == "" {
			e.name = t.module + " " + strconv.Itoa(t.line())
		}
	}
	if t.isLoop() {
		e.name += " {{ Item }}"
	} else {
		e.name = escape(e.name)
	}
	return e
}

func debugTask(t *task, r row) {
	t.checkArgs(r)
	msg := t.args["msg"]
	if n := t.arg("var"); n != nil {
		name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(n.Value), "{{"), "}}"))
		e, err := j2.ParseExpr(name)
		if err != nil {
			t.problem("debug of %s", name)
			return
		}
		v, err := t.w.write(e)
		if err != nil {
			t.fail(err)
			return
		}
		text := v.text
		if v.kind != textKind {
			text = "toJSON(" + v.text + ")"
		}
		entry := &entry{typ: "exec", name: "show " + name}
		if t.isLoop() {
			t.problem("debug of a variable in a loop")
		}
		entry.setText("command", "echo '{{ replace("+text+`, "'", "'\\''") }}'`)
		entry.setText("provider", "shell")
		entry.set("readonly", boolNode(true))
		entry.set("logoutput", boolNode(true))
		t.write(entry)
		return
	}
	if msg == nil {
		msg = textNode("Hello world!")
	}
	t.saying(msg)
}

// waitTask is a wait for what is there, or no longer there.
func waitTask(t *task, r row) {
	t.checkArgs(r)
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
		e.setText("path", t.place(path))
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
		e.setText("ensure", "absent")
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
			e.setText(one.ours, n.Value+"s")
		}
	}
	if n := t.arg("delay"); n != nil && n.Value != "0" {
		t.note("delay of wait_for; it is looked at once")
	}
	t.write(e)
}

func pauseTask(t *task, r row) {
	t.checkArgs(r)
	n, unit := t.arg("seconds"), ""
	if n == nil {
		n, unit = t.arg("minutes"), "m"
	}
	if n == nil {
		t.problem("pause without seconds and minutes: a rollout asks a person")
		return
	}
	e := t.command("sleep "+t.text(n)+unit, false)
	e.set("readonly", boolNode(true))
}

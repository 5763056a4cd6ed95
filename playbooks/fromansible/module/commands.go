package module

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// shellQuote writes a word for a shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~%=") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func commandTask(t *task.Task) {
	text := t.Line
	if n := t.Arg("cmd", "_raw_params"); n != nil && text == "" {
		if n.Kind != yaml.ScalarNode {
			t.Problem("a command that is no text")
			return
		}
		text = n.Value
	}
	if n := t.Arg("argv"); n != nil {
		words := make([]string, 0, len(n.Content))
		for _, one := range yamlnode.Items(n) {
			word := t.Text(one)
			if yamlnode.HasJinja(one) {
				quoted, err := quotedText(t, one.Value)
				t.Fail(err)
				words = append(words, quoted)
				continue
			}
			words = append(words, shellQuote(word))
		}
		command(t, strings.Join(words, " "), false)
		return
	}
	if strings.TrimSpace(text) == "" {
		t.Problem("%s without a command", t.Module)
		return
	}
	text = strings.TrimRight(text, " \n")
	shell := t.Module != "command"
	if n := t.Arg("executable"); n != nil && n.Value != "/bin/sh" {
		program := t.Text(n)
		quoted, err := quotedText(t, text)
		t.Fail(err)
		command(t, program+" -c "+quoted, false)
		return
	}
	if looksOnly(t, text, shell) {
		return
	}
	written, err := t.W.Text(text)
	t.Fail(err)
	command(t, written, shell)
}

// quotedText writes a text with expressions as one word for a shell.
func quotedText(t *task.Task, text string) (string, error) {
	parts, err := t.W.Parts(text)
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
func command(t *task.Task, text string, shell bool) *layout.Entry {
	if _, pipe, _ := strings.Cut(text, "\n"); pipe != "" {
		text += "\n"
	}
	e := &layout.Entry{Type: "exec", Name: t.Name}
	switch {
	case e.Name == "" || t.IsLoop() && strings.Contains(text, "Item"):
		e.Name = strings.Join(strings.Fields(text), " ")
		if e.Name != text {
			e.SetText("command", text)
		}
	default:
		if t.IsLoop() {
			e.Name += " {{ Item }}"
		}
		e.SetText("command", text)
	}
	e.Name = escapeName(e.Name, t.Name == e.Name)
	if shell {
		e.SetText("provider", "shell")
	}
	if n := t.Arg("chdir"); n != nil {
		e.SetText("cwd", t.Place(n))
	}
	if n := t.Arg("creates"); n != nil {
		if strings.ContainsAny(n.Value, "*?") && !yamlnode.HasJinja(n) {
			t.Problem("creates with a pattern")
		}
		e.SetText("creates", t.Place(n))
	}
	if n := t.Arg("removes"); n != nil {
		e.SetText("onlyif", "test -e "+shellQuoteText(t.Place(n)))
	}
	if strings.Contains(text, "$HOME") || strings.Contains(text, "~/") {
		t.Note("a command that needs HOME; exec has it where user is given")
	}
	return t.Write(e)
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
func scriptTask(t *task.Task) {
	text := t.Line
	if n := t.Arg("cmd", "_raw_params"); n != nil {
		text = n.Value
	}
	words := yamlnode.SplitWords(text)
	if len(words) == 0 || j2.HasTags(words[0]) || t.IsLoop() {
		t.Problem("a script whose name is an expression, or in a loop")
		return
	}
	found, err := t.File.LocalFile("files", words[0])
	if err != nil {
		t.Fail(err)
		return
	}
	path := "/usr/local/sbin/" + strings.ReplaceAll(strings.TrimPrefix(found, "files/"), "/", "-")
	file := &layout.Entry{Type: "file", Name: path}
	file.SetText("source", found)
	file.SetText("mode", "0755")
	t.Entries = append(t.Entries, file)
	rest, err := t.W.Text(strings.Join(words[1:], " "))
	t.Fail(err)
	t.Note("script; it stays on the host as %s", path)
	command(t, strings.TrimSpace(path+" "+rest), false)
}

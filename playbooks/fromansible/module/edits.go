package module

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func replaceTask(t *task.Task) {
	e := &layout.Entry{Type: "replace"}
	pattern := t.Arg("regexp")
	if pattern == nil {
		t.Problem("replace without regexp")
		return
	}
	lineName(t, e, t.Place(t.Arg("path", "dest", "destfile", "name")), pattern)
	putPattern(t, e, "regexp", pattern)
	if n := t.Args["replace"]; n != nil && n.Value != "" {
		t.Put(e, "replace", n)
	}
	putPattern(t, e, "after", t.Arg("after"))
	putPattern(t, e, "before", t.Arg("before"))
	t.Put(e, "validate", t.Arg("validate"))
	writeEdit(t, e)
}

func iniTask(t *task.Task) {
	e := &layout.Entry{Type: "ini"}
	option, section := t.Arg("option"), t.Arg("section")
	path := t.Place(t.Arg("path", "dest"))
	words := []string{path}
	for _, n := range []*yaml.Node{section, option} {
		if n != nil {
			words = append(words, t.Text(n))
		}
	}
	e.Name = strings.Join(words, " ")
	e.SetText("path", path)
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.Put(e, "section", section)
	t.Put(e, "option", option)
	if n := t.Arg("value"); n != nil {
		e.SetText("value", t.Text(n))
	}
	t.Put(e, "values", t.Arg("values"))
	if n := t.Arg("exclusive"); n != nil {
		t.PutBool(e, "exclusive", n)
	}
	separator := " = "
	if b, _ := yamlnode.BoolOf(t.Arg("no_extra_spaces")); b {
		separator = "="
	}
	if v := e.Get("ensure"); v == nil {
		e.SetText("separator", separator)
		if b, given := yamlnode.BoolOf(t.Arg("create")); !given || b {
			e.Set("create", yamlnode.Bool(true))
		}
	}
	t.Put(e, "validate", t.Arg("validate"))
	writeEdit(t, e)
}

// lineName is what a line is called: its file, or what tells the lines of a loop apart.
func lineName(t *task.Task, e *layout.Entry, path string, apart *yaml.Node) {
	e.Name = path
	if !t.IsLoop() || strings.Contains(path, "Item") {
		return
	}
	e.Name = ""
	if apart != nil {
		e.Name = path + ": " + t.Text(apart)
	}
	e.SetText("path", path)
}

func lineTask(t *task.Task) {
	e := &layout.Entry{Type: "line"}
	pattern := t.Arg("regexp", "regex")
	line := t.Arg("line", "value")
	apart := line
	if apart == nil {
		apart = pattern
	}
	lineName(t, e, t.Place(t.Arg("path", "dest", "destfile", "name")), apart)
	state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if state == "absent" {
		e.SetText("ensure", "absent")
	} else if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	putPattern(t, e, "regexp", pattern)
	t.Put(e, "line", line)
	if state != "absent" {
		places(t, e)
		creates(t, e)
	}
	t.Put(e, "validate", t.Arg("validate"))
	writeEdit(t, e)
}

// writeEdit writes an edit of a file, and then the owner, group and mode of the file.
func writeEdit(t *task.Task, e *layout.Entry) {
	t.Write(e)
	file := &layout.Entry{Type: "file", Name: e.Name}
	if n := e.Get("path"); n != nil {
		file.Name = n.Value
	}
	for _, name := range []string{"owner", "group"} {
		t.Put(file, name, t.Arg(name))
	}
	putMode(t, file, t.Arg("mode"))
	switch ensure := e.Get("ensure"); {
	case len(file.Props) == 0:
		return
	case ensure != nil:
		t.Problem("owner, group or mode of a file that may be missing")
	case t.IsLoop() && (strings.Contains(file.Name, "Item") || strings.Contains(file.Name, "Outer")):
		t.Problem("owner, group or mode of files of a loop: write a file resource for each")
	case t.IsLoop() && t.Keywords["when"] != nil:
		t.Problem("owner, group or mode of a file in a loop with a condition: write a file resource")
	case e.Get("create") != nil: // a new file never has other ones
		for _, p := range file.Props {
			if mode, ok := modeOfNew(p.Value.Value); ok && p.Key == "mode" {
				p.Value = yamlnode.Text(mode)
			}
			if p.Key != "mode" || yamlnode.HasJinja(p.Value) || octal().MatchString(p.Value.Value) {
				e.Props = append(e.Props, p)
			}
		}
	}
	for _, p := range file.Props {
		if p.Value != nil && strings.Contains(p.Value.Value, "Item") {
			t.Problem("%s of a file that the element of a loop decides", p.Key)
		}
	}
	t.Entries = append(t.Entries, file)
}

// putPattern writes a regular expression of Python, if it means the same in Go.
func putPattern(t *task.Task, e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if !yamlnode.HasJinja(n) {
		if _, err := regexp.Compile(n.Value); err != nil {
			t.Problem("the regular expression %s", n.Value)
			return
		}
	}
	t.Put(e, property, n)
}

// places writes where a new line stands.
func places(t *task.Task, e *layout.Entry) {
	after, before := t.Arg("insertafter"), t.Arg("insertbefore")
	if after != nil && after.Value != "EOF" {
		putPattern(t, e, "after", after)
	}
	if before != nil {
		putPattern(t, e, "before", before)
	}
}

func creates(t *task.Task, e *layout.Entry) {
	if n := t.Arg("create"); n != nil {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.PutBool(e, "create", n)
		}
	}
}

func blockTask(t *task.Task) {
	e := &layout.Entry{Type: "line"}
	path := t.Place(t.Arg("path", "dest", "destfile", "name"))
	marker := t.Arg("marker")
	lineName(t, e, path, marker)
	content := t.Arg("block", "content")
	state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if content == nil || state == "absent" {
		e.SetText("ensure", "absent")
	}
	if content != nil {
		if content.Kind != yaml.ScalarNode {
			t.Problem("a block that is no text")
			return
		}
		e.Set("block", yamlnode.Text(t.Text(content)))
	} else {
		e.SetText("block", "x")
	}
	if marker != nil {
		t.Put(e, "marker", marker)
		if !strings.Contains(marker.Value, "{mark}") {
			t.Problem("a marker without {mark}")
		}
	} else {
		e.SetText("marker", "# {mark} ANSIBLE MANAGED BLOCK")
	}
	if e.Get("ensure") == nil {
		places(t, e)
		creates(t, e)
	}
	t.Put(e, "validate", t.Arg("validate"))
	writeEdit(t, e)
}

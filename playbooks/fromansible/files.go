package fromansible

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// putAttributes writes owner, group, mode and the like.
func (t *task) putAttributes(e *layout.Entry) {
	for _, name := range []string{"owner", "group"} {
		t.put(e, name, t.arg(name))
	}
	t.putMode(e, t.arg("mode"))
	if n := t.arg("validate"); n != nil {
		t.put(e, "validate", n)
	}
	if n := t.arg("backup"); n != nil && e.Type == "file" {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.putBool(e, "backup", n)
		}
	}
}

var octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0?o?[0-7]{3,4}$`) })

func (t *task) putMode(e *layout.Entry, n *yaml.Node) {
	switch {
	case n == nil:
	case yamlnode.HasJinja(n):
		t.put(e, "mode", n)
	case n.Value == "preserve":
		t.problem("mode: preserve: write the mode")
	case n.ShortTag() == "!!int" && n.Style == 0 && !strings.HasPrefix(n.Value, "0"):
		t.problem("mode: %s, which Ansible takes for a decimal number", n.Value)
	case octal().MatchString(n.Value):
		digits := strings.TrimLeft(strings.TrimPrefix(n.Value, "0o"), "0")
		e.SetText("mode", "0"+strings.Repeat("0", max(0, 3-len(digits)))+digits)
	default:
		e.SetText("mode", n.Value)
	}
}

// place is the path of a file, without a slash behind it.
func (t *task) place(n *yaml.Node) string {
	if n == nil {
		t.problem("%s without a path", t.module)
		return ""
	}
	text := t.text(n)
	if len(text) > 1 {
		text = strings.TrimRight(text, "/")
	}
	if strings.HasPrefix(text, "~") {
		t.problem("a path in a home: %s", text)
	}
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "{{") {
		t.problem("a path that is not absolute: %s", text)
	}
	return text
}

// into is the path of a file that is put somewhere: a directory if that ends in a slash.
func (t *task) into(n, src *yaml.Node) string {
	text := t.place(n)
	if n != nil && strings.HasSuffix(n.Value, "/") && src != nil {
		text += "/" + strings.TrimSuffix(path.Base(t.text(src)), ".j2")
	}
	return text
}

func fileTask(t *task) {
	t.checkArgs()
	name := t.place(t.arg("path", "dest", "name"))
	state := t.arg("state")
	e := &layout.Entry{Type: "file", Name: name}
	how := "file"
	if state != nil {
		how = state.Value
	}
	if yamlnode.HasJinja(state) {
		t.fileState(e, state)
		t.putAttributes(e)
		t.write(e)
		return
	}
	recurse, _ := yamlnode.BoolOf(t.arg("recurse"))
	switch how {
	case "directory":
		e.SetText("ensure", "directory")
		t.putAttributes(e)
		if recurse && len(e.Props) > 1 {
			e.Set("recurse", yamlnode.Bool(true))
			if mode := e.Get("mode"); mode != nil && octal().MatchString(mode.Value) {
				t.problem("recurse with a mode in octal, which files get too: write mode and file_mode")
			}
		}
	case "absent":
		e.SetText("ensure", "absent")
		e.Set("force", yamlnode.Bool(true))
	case "link":
		e.Type = "link"
		src := t.arg("src")
		if src == nil {
			t.problem("a link without src")
		}
		e.SetText("target", t.text(src))
		t.putBool(e, "force", t.arg("force"))
		for _, key := range []string{"owner", "group", "mode"} {
			if t.arg(key) != nil {
				t.note("%s of a link is not set", key)
			}
		}
	case "touch":
		t.putAttributes(e)
		t.note("state: touch; times are not set, so it is no change in each run")
	case "file":
		t.putAttributes(e)
		t.note("state: file; one that is missing is made, where Ansible fails")
	default:
		t.problem("the state %s of a file", how)
	}
	t.write(e)
}

// fileState writes a state that is chosen by a condition.
func (t *task) fileState(e *layout.Entry, n *yaml.Node) {
	text := t.oneOf(n, map[string]string{"directory": "directory", "absent": "absent", "file": "present", "touch": "present", "link": ""})
	e.SetText("ensure", text)
	e.Set("force", yamlnode.Bool(true))
}

func copyTask(t *task) {
	t.checkArgs()
	src, content := t.arg("src"), t.args["content"]
	if remote := t.arg("remote_src"); remote != nil {
		if b, ok := yamlnode.BoolOf(remote); !ok || b {
			t.copyOnHost(ok, src)
			return
		}
	}
	e := &layout.Entry{Type: "file"}
	switch {
	case content != nil:
		e.Name = t.place(t.arg("dest"))
		if content.Kind != yaml.ScalarNode {
			t.problem("a content that is no text")
			break
		}
		if x := expression.SoleExpr(content); x != nil {
			v, err := t.w.Write(x)
			t.fail(err)
			if v.Kind == expression.MapKind || v.Kind == expression.ListKind {
				t.problem("a content that is a list or a map")
			}
		}
		e.Set("content", yamlnode.Text(t.text(content)))
	case src == nil:
		t.problem("copy without src and content")
		return
	default:
		e.Name = t.into(t.arg("dest"), src)
		if !t.source(e, src) {
			return
		}
	}
	t.putAttributes(e)
	t.write(e)
}

// copyOnHost copies a file that is on the host already.
func (t *task) copyOnHost(literal bool, src *yaml.Node) {
	if !literal || src == nil || strings.HasSuffix(src.Value, "/") {
		t.problem("remote_src of a folder, or that is an expression")
		return
	}
	from, to := t.place(src), t.into(t.arg("dest"), src)
	from, to = shellQuoteText(from), shellQuoteText(to)
	e := &layout.Entry{Type: "exec", Name: "cp " + from + " " + to}
	e.SetText("unless", "cmp -s "+from+" "+to)
	t.note("copy with remote_src; a folder fails")
	if t.arg("owner", "group", "mode") != nil {
		file := &layout.Entry{Type: "file", Name: t.into(t.arg("dest"), src)}
		t.putAttributes(file)
		if t.isLoop() {
			t.problem("a loop of copy with remote_src, and owner or mode")
		}
		t.write(e)
		t.entries = append(t.entries, file)
		return
	}
	t.write(e)
}

// source writes a file of the role as the source of an entry.
func (t *task) source(e *layout.Entry, src *yaml.Node) bool {
	text := t.text(src)
	if yamlnode.HasJinja(src) {
		e.SetText("source", t.sourceText(src, text))
		return len(t.problems) == 0
	}
	if dir := filepath.Join(t.c.role.dir, "files", src.Value); isFolder(dir) {
		return t.tree(e, dir, src.Value)
	}
	found, err := t.c.LocalFile("files", src.Value)
	t.fail(err)
	e.SetText("source", found)
	return err == nil
}

// sourceText is the path of a source that is an expression: the files it may lead to are copied.
func (t *task) sourceText(src *yaml.Node, text string) string {
	e := expression.SoleExpr(src)
	if e != nil && e.Op == j2.Name {
		if b, ok := t.scope.Find(e.Text); ok && t.loopKey() == "with_fileglob" && b.Text == "Item" {
			return text // a path already
		}
	}
	if strings.HasPrefix(text, "/") || strings.Contains(src.Value, "playbook_dir") || strings.Contains(src.Value, "role_path") || e != nil && e.Op == j2.Name && !strings.HasPrefix(text, "{{ Item") {
		t.problem("a source that is an expression: %s", expression.Shortened(src.Value))
		return text
	}
	dir := filepath.Join(t.c.role.dir, "files")
	if !isFolder(dir) {
		t.problem("a source that is an expression, without a folder files")
		return text
	}
	if !t.c.role.files {
		t.c.copyTree(dir, strings.TrimPrefix(t.c.role.out+"/files", "/"))
		t.c.role.files = true
	}
	return "files/" + strings.TrimPrefix(text, "files/")
}

// tree writes a folder of the role.
func (t *task) tree(e *layout.Entry, dir, src string) bool {
	if t.arg("mode") != nil {
		t.problem("a folder with a mode: its files have those that they have in the play")
		return false
	}
	e.Type, e.Name = "scaffold", t.place(t.arg("dest"))
	if !strings.HasSuffix(src, "/") {
		e.Name += "/" + path.Base(src)
	}
	rel, _ := filepath.Rel(t.c.role.dir, dir)
	t.c.copyTree(dir, strings.TrimPrefix(t.c.role.out+"/"+filepath.ToSlash(rel), "/"))
	e.SetText("source", filepath.ToSlash(rel))
	e.SetText("engine", "none")
	return true
}

func templateTask(t *task) {
	t.checkArgs()
	src := t.arg("src")
	if src == nil {
		t.problem("template without src")
		return
	}
	name := src.Value
	if yamlnode.HasJinja(src) {
		text, err := t.w.Parts(src.Value)
		t.fail(err)
		name = ""
		for _, p := range text {
			literal := p.Text
			if p.Term != nil {
				s, ok := literalOf(p.Term.Text)
				if !ok {
					t.problem("a template whose name is an expression: %s", expression.Shortened(src.Value))
					return
				}
				literal = s
			}
			name += literal
		}
	}
	e := &layout.Entry{Type: "file", Name: t.into(t.arg("dest"), yamlnode.Text(name))}
	strip, _ := yamlnode.BoolOf(t.arg("lstrip_blocks"))
	trim, given := yamlnode.BoolOf(t.arg("trim_blocks"))
	found, err := t.c.templateWith(name, t.scope, j2.Options{StripIndent: strip, KeepLineBreaks: given && !trim})
	t.fail(err)
	e.SetText("content", "{{ jet('"+found+"') }}")
	t.putAttributes(e)
	t.write(e)
}

// literalOf is the text of a literal of an expression.
func literalOf(text string) (string, bool) {
	if len(text) >= 2 && text[0] == '\'' && strings.IndexByte(text[1:], '\'') == len(text)-2 {
		return text[1 : len(text)-1], true
	}
	s, err := strconv.Unquote(text)
	return s, err == nil
}

// lineName is what a line is called: its file, or what tells the lines of a loop apart.
func (t *task) lineName(e *layout.Entry, path string, apart *yaml.Node) {
	e.Name = path
	if !t.isLoop() || strings.Contains(path, "Item") {
		return
	}
	e.Name = ""
	if apart != nil {
		e.Name = path + ": " + t.text(apart)
	}
	e.SetText("path", path)
}

func lineTask(t *task) {
	t.checkArgs()
	e := &layout.Entry{Type: "line"}
	pattern := t.arg("regexp", "regex")
	line := t.arg("line", "value")
	apart := line
	if apart == nil {
		apart = pattern
	}
	t.lineName(e, t.place(t.arg("path", "dest", "destfile", "name")), apart)
	state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if state == "absent" {
		e.SetText("ensure", "absent")
	} else if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.putPattern(e, "regexp", pattern)
	t.put(e, "line", line)
	if state != "absent" {
		t.places(e)
		t.creates(e)
	}
	t.putAttributes(e)
	t.write(e)
}

// putPattern writes a regular expression of Python, if it means the same in Go.
func (t *task) putPattern(e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if !yamlnode.HasJinja(n) {
		if _, err := regexp.Compile(n.Value); err != nil {
			t.problem("the regular expression %s", n.Value)
			return
		}
	}
	t.put(e, property, n)
}

// places writes where a new line stands.
func (t *task) places(e *layout.Entry) {
	after, before := t.arg("insertafter"), t.arg("insertbefore")
	if after != nil && after.Value != "EOF" {
		t.putPattern(e, "after", after)
	}
	if before != nil {
		t.putPattern(e, "before", before)
	}
}

func (t *task) creates(e *layout.Entry) {
	if n := t.arg("create"); n != nil {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.putBool(e, "create", n)
		}
	}
	if e.Get("create") == nil {
		for _, key := range []string{"owner", "group", "mode"} {
			if t.arg(key) != nil {
				t.note("%s of a file that is there is not changed by a line", key)
				delete(t.args, key)
			}
		}
	}
}

func blockTask(t *task) {
	t.checkArgs()
	e := &layout.Entry{Type: "line"}
	path := t.place(t.arg("path", "dest", "destfile", "name"))
	marker := t.arg("marker")
	t.lineName(e, path, marker)
	content := t.arg("block", "content")
	state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if content == nil || state == "absent" {
		e.SetText("ensure", "absent")
	}
	if content != nil {
		if content.Kind != yaml.ScalarNode {
			t.problem("a block that is no text")
			return
		}
		e.Set("block", yamlnode.Text(t.text(content)))
	} else {
		e.SetText("block", "x")
	}
	if marker != nil {
		t.put(e, "marker", marker)
		if !strings.Contains(marker.Value, "{mark}") {
			t.problem("a marker without {mark}")
		}
	} else {
		e.SetText("marker", "# {mark} ANSIBLE MANAGED BLOCK")
	}
	if e.Get("ensure") == nil {
		t.places(e)
		t.creates(e)
	}
	t.putAttributes(e)
	t.write(e)
}

func downloadTask(t *task) {
	t.checkArgs()
	url := t.arg("url")
	if url == nil {
		t.problem("get_url without url")
		return
	}
	e := &layout.Entry{Type: "file", Name: t.place(t.arg("dest"))}
	if dest := t.arg("dest"); dest != nil && strings.HasSuffix(dest.Value, "/") {
		e.Name += "/" + path.Base(t.text(url))
	}
	e.SetText("source", t.text(url))
	sum := t.arg("checksum", "sha256sum")
	switch {
	case sum == nil:
		if strings.HasPrefix(url.Value, "http://") {
			t.problem("a download over http without a checksum")
		}
		e.SetText("checksum", "none")
		t.note("get_url without a checksum; it is downloaded in each run, and where it differs it is replaced")
	case strings.HasPrefix(sum.Value, "sha256:") && !strings.Contains(sum.Value, "http"):
		t.put(e, "checksum", sum)
	case t.args["sha256sum"] != nil:
		t.put(e, "checksum", sum)
	default:
		t.problem("a checksum that is no SHA-256: %s", expression.Shortened(sum.Value))
	}
	t.putAttributes(e)
	t.write(e)
}

func archiveTask(t *task) {
	t.checkArgs()
	src, dest := t.arg("src"), t.arg("dest")
	if src == nil || dest == nil {
		t.problem("unarchive without src and dest")
		return
	}
	url := t.text(src)
	creates := t.arg("creates")
	switch {
	case !strings.Contains(url, "://") && !strings.HasPrefix(url, "{{ Data."):
		t.problem("an archive that is not behind a URL")
		return
	case !strings.Contains(url, "://"):
		t.problem("an archive whose URL is a variable: its name says what it is")
		return
	case creates == nil:
		t.problem("unarchive without creates: what says that it has been unpacked?")
		return
	}
	e := &layout.Entry{Type: "archive", Name: "/var/cache/" + path.Base(url)}
	if strings.Contains(path.Base(url), "}}") && !strings.Contains(path.Base(url), "{{") {
		t.problem("an archive whose name is not known")
	}
	e.SetText("url", url)
	e.SetText("extract_parent", t.place(dest))
	t.put(e, "creates", creates)
	e.Set("cleanup", yamlnode.Bool(true))
	t.write(e)
}

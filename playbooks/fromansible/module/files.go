package module

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// putAttributes writes owner, group, mode and the like.
func putAttributes(t *task.Task, e *layout.Entry) {
	for _, name := range []string{"owner", "group"} {
		t.Put(e, name, t.Arg(name))
	}
	putMode(t, e, t.Arg("mode"))
	if n := t.Arg("validate"); n != nil {
		t.Put(e, "validate", n)
	}
	if n := t.Arg("backup"); n != nil && e.Type == "file" {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.PutBool(e, "backup", n)
		}
	}
}

var octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0?o?[0-7]{3,4}$`) })

func putMode(t *task.Task, e *layout.Entry, n *yaml.Node) {
	switch {
	case n == nil:
	case yamlnode.HasJinja(n):
		if x := expression.SoleExpr(n); x != nil && x.Op == j2.Name && t.File.KindOf(x.Text) == expression.NumberKind {
			t.Problem("a mode that is the number %s: quote it in the variables", x.Text)
		}
		t.Put(e, "mode", n)
	case n.Value == "preserve":
		t.Problem("mode: preserve: write the mode")
	case n.ShortTag() == "!!int" && n.Style == 0 && !strings.HasPrefix(n.Value, "0"):
		t.Problem("mode: %s, which Ansible takes for a decimal number", n.Value)
	case octal().MatchString(n.Value):
		digits := strings.TrimLeft(strings.TrimPrefix(n.Value, "0o"), "0")
		e.SetText("mode", "0"+strings.Repeat("0", max(0, 3-len(digits)))+digits)
	case e.Type != "file": // it is that of a new file
		mode, ok := modeOfNew(n.Value)
		if !ok {
			t.Problem("a mode in letters of a resource of type %s: write it in octal: %s", e.Type, n.Value)
		}
		e.SetText("mode", mode)
	default:
		e.SetText("mode", n.Value)
	}
}

// modeOfNew is the mode of a new file, which has 0644, after changes that are written in letters; ok is false if they
// name other bits than those of chmod go=r.
func modeOfNew(changes string) (octal string, ok bool) {
	mode := 0o644
	for _, change := range strings.Split(changes, ",") {
		at := strings.IndexAny(change, "+-=")
		if at < 0 || strings.Trim(change[:at], "ugoa") != "" || strings.Trim(change[at+1:], "rwx") != "" {
			return "", false
		}
		who := change[:at]
		if who == "" || strings.Contains(who, "a") {
			who = "ugo"
		}
		bits := 0
		for i, letter := range "rwx" {
			if strings.ContainsRune(change[at+1:], letter) {
				bits |= 4 >> i
			}
		}
		for i, letter := range "ugo" {
			shift := 6 - 3*i
			switch {
			case !strings.ContainsRune(who, letter):
			case change[at] == '+':
				mode |= bits << shift
			case change[at] == '-':
				mode &^= bits << shift
			default:
				mode = mode&^(7<<shift) | bits<<shift
			}
		}
	}
	return fmt.Sprintf("%04o", mode), true
}

// into is the path of a file that is put somewhere: a directory if that ends in a slash.
func into(t *task.Task, n, src *yaml.Node) string {
	text := t.Place(n)
	if n != nil && strings.HasSuffix(n.Value, "/") && src != nil {
		text += "/" + path.Base(t.Text(src))
	}
	return text
}

func fileTask(t *task.Task) {
	name := t.Place(t.Arg("path", "dest", "name"))
	state := t.Arg("state")
	e := &layout.Entry{Type: "file", Name: name}
	how := "file"
	if state != nil {
		how = state.Value
	}
	if yamlnode.HasJinja(state) {
		fileState(t, e, state)
		putAttributes(t, e)
		t.Write(e)
		return
	}
	recurse, _ := yamlnode.BoolOf(t.Arg("recurse"))
	switch how {
	case "directory":
		e.SetText("ensure", "directory")
		putAttributes(t, e)
		if recurse && len(e.Props) > 1 {
			e.Set("recurse", yamlnode.Bool(true))
			if mode := e.Get("mode"); mode != nil && octal().MatchString(mode.Value) {
				e.Set("file_mode", mode) // Ansible also sets it for files
			}
		}
	case "absent":
		e.SetText("ensure", "absent")
		e.Set("force", yamlnode.Bool(true))
	case "link":
		e.Type = "link"
		src := t.Arg("src")
		if src == nil {
			t.Problem("a link without src")
		}
		e.SetText("target", t.Text(src))
		t.PutBool(e, "force", t.Arg("force"))
		for _, key := range []string{"owner", "group", "mode"} {
			if t.Arg(key) != nil {
				t.Note("%s of a link is not set", key)
			}
		}
	case "touch":
		putAttributes(t, e)
		t.Note("state: touch; times are not set, so it is no change in each run")
	case "file":
		putAttributes(t, e)
		t.Note("state: file; one that is missing is made, where Ansible fails")
	default:
		t.Problem("the state %s of a file", how)
	}
	t.Write(e)
}

// fileState writes a state that is chosen by a condition.
func fileState(t *task.Task, e *layout.Entry, n *yaml.Node) {
	text := t.OneOf(n, map[string]string{"directory": "directory", "absent": "absent", "file": "present", "touch": "present", "link": ""})
	e.SetText("ensure", text)
	if of, is := strings.CutPrefix(text, "{{ "); is { // other states refuse it
		e.SetText("force", "{{ ("+strings.TrimSuffix(of, " }}")+") == 'absent' }}")
	}
}

func copyTask(t *task.Task) {
	src, content := t.Arg("src"), t.Args["content"]
	if remote := t.Arg("remote_src"); remote != nil {
		if b, ok := yamlnode.BoolOf(remote); !ok || b {
			copyOnHost(t, ok, src)
			return
		}
	}
	e := &layout.Entry{Type: "file"}
	switch {
	case content != nil:
		e.Name = t.Place(t.Arg("dest"))
		if content.Kind != yaml.ScalarNode {
			t.Problem("a content that is no text")
			break
		}
		e.Set("content", yamlnode.Text(contentOf(t, content)))
	case src == nil:
		t.Problem("copy without src and content")
		return
	default:
		e.Name = into(t, t.Arg("dest"), src)
		if !source(t, e, src) {
			return
		}
	}
	putAttributes(t, e)
	t.Write(e)
}

// copyOnHost copies a file that is on the host already.
func copyOnHost(t *task.Task, literal bool, src *yaml.Node) {
	if !literal || src == nil || strings.HasSuffix(src.Value, "/") {
		t.Problem("remote_src of a folder, or that is an expression")
		return
	}
	from, to := t.Place(src), into(t, t.Arg("dest"), src)
	from, to = shellQuoteText(from), shellQuoteText(to)
	e := &layout.Entry{Type: "exec", Name: "cp " + from + " " + to}
	e.SetText("unless", "cmp -s "+from+" "+to)
	t.Note("copy with remote_src; a folder fails")
	if t.Arg("owner", "group", "mode") != nil {
		file := &layout.Entry{Type: "file", Name: into(t, t.Arg("dest"), src)}
		putAttributes(t, file)
		if t.IsLoop() {
			t.Problem("a loop of copy with remote_src, and owner or mode")
		}
		t.Write(e)
		t.Entries = append(t.Entries, file)
		return
	}
	t.Write(e)
}

// source writes a file of the role as the source of an entry.
func source(t *task.Task, e *layout.Entry, src *yaml.Node) bool {
	text := t.Text(src)
	if yamlnode.HasJinja(src) {
		e.SetText("source", sourceText(t, src, text))
		return len(t.Problems) == 0
	}
	if dir := filepath.Join(t.File.Dir, "files", src.Value); t.File.To.From.IsFolder(dir) {
		return tree(t, e, src.Value)
	}
	found, err := t.File.LocalFile("files", src.Value)
	t.Fail(err)
	e.SetText("source", found)
	return err == nil
}

// sourceText is the path of a source that is an expression: the files it may lead to are copied.
func sourceText(t *task.Task, src *yaml.Node, text string) string {
	e := expression.SoleExpr(src)
	if e != nil && e.Op == j2.Name {
		if b, ok := t.Scope.Find(e.Text); ok && t.LoopKey() == "with_fileglob" && b.Text == "Item" {
			return text // a path already
		}
	}
	if strings.HasPrefix(text, "/") || strings.Contains(src.Value, "playbook_dir") || strings.Contains(src.Value, "role_path") || e != nil && e.Op == j2.Name && !strings.HasPrefix(text, "{{ Item") {
		t.Problem("a source that is an expression: %s", expression.Shortened(src.Value))
		return text
	}
	if _, there := t.File.Tree(""); !there {
		t.Problem("a source that is an expression, without a folder files")
		return text
	}
	return "files/" + strings.TrimPrefix(text, "files/")
}

// tree writes a folder of the role.
func tree(t *task.Task, e *layout.Entry, src string) bool {
	if t.Arg("mode") != nil {
		t.Problem("a folder with a mode: its files have those that they have in the play")
		return false
	}
	e.Type, e.Name = "scaffold", t.Place(t.Arg("dest"))
	if !strings.HasSuffix(src, "/") {
		e.Name += "/" + path.Base(src)
	}
	rel, _ := t.File.Tree(src)
	e.SetText("source", rel)
	e.SetText("engine", "none")
	return true
}

func templateTask(t *task.Task) {
	src := t.Arg("src")
	if src == nil {
		t.Problem("template without src")
		return
	}
	header := templateHeader(t)
	var vars []expression.Var
	convert := func(name string) string {
		found, needed, err := t.File.Template(name, header, t.Scope)
		t.Fail(err)
		for _, v := range needed {
			if !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
		}
		return "template('" + found + "')"
	}
	names, conditions := templatesOf(t, src)
	name, content, dest := "", "", t.Arg("dest")
	if names == nil {
		if content = chosenTemplate(t, src, convert); content == "" {
			content = anyTemplate(t, src, header, &vars)
		}
		if content == "" {
			t.Problem("a template whose name is an expression: %s", expression.Shortened(src.Value))
			return
		}
	} else {
		name = names[0]
	}
	if len(names) != 1 && dest != nil && strings.HasSuffix(dest.Value, "/") {
		t.Problem("a folder for templates whose names are an expression")
	}
	e := &layout.Entry{Type: "file", Name: into(t, dest, yamlnode.Text(name))}
	for i, name := range names {
		if i < len(names)-1 {
			content += conditions[i] + " ? "
		}
		content += convert(name)
		if i < len(names)-1 {
			content += " : "
		}
	}
	for _, v := range vars {
		task.AddVar(v.Name, v.Text, t)
	}
	e.SetText("content", "{{ "+content+" }}")
	putAttributes(t, e)
	t.Write(e)
}

// templateSettings are arguments of the module template that the first line of a template can have.
var templateSettings = []string{
	"trim_blocks", "lstrip_blocks", "block_start_string", "block_end_string", "variable_start_string", "variable_end_string", "comment_start_string", "comment_end_string",
}

// templateHeader returns the first line of a template with the settings of its task; empty means none.
func templateHeader(t *task.Task) string {
	var settings []string
	for _, name := range templateSettings {
		n := t.Arg(name)
		if n == nil {
			continue
		}
		value := n.Value
		if b, ok := yamlnode.BoolOf(n); ok && strings.HasSuffix(name, "_blocks") {
			if b == (name == "trim_blocks") { // which is the default
				continue
			}
			value = "False"
			if b {
				value = "True"
			}
		} else if strings.HasSuffix(name, "_blocks") || strings.ContainsAny(value, ",:'\\\n") {
			t.Problem("%s: %s", name, value)
			continue
		} else {
			value = "'" + value + "'"
		}
		settings = append(settings, name+": "+value)
	}
	if settings == nil {
		return ""
	}
	return "#jinja2: " + strings.Join(settings, ", ") + "\n"
}

// chosenTemplate writes a template whose name is a variable with a default, or made of a fact; "" if it is neither. Any
// other name is an error of the run.
func chosenTemplate(t *task.Task, src *yaml.Node, convert func(name string) string) string {
	if x := expression.SoleExpr(src); x != nil && x.Op == j2.Name {
		n := t.File.NodeOf(x)
		if n == nil || expression.KindOfNode(n) != expression.TextKind {
			return ""
		}
		v, err := t.W.Write(x)
		t.Fail(err)
		return "({" + expression.QuoteText(n.Value) + ": " + convert(n.Value) + "})[" + v.Text + "]"
	}
	nodes, err := j2.ParseTemplate(src.Value, j2.Options{KeepLineBreaks: true, AsIs: true})
	if err != nil {
		return ""
	}
	var before, after string
	var by *j2.Expr
	for _, n := range nodes {
		switch {
		case n.Kind == j2.Text && by == nil:
			before += n.Text
		case n.Kind == j2.Text:
			after += n.Text
		case n.Kind == j2.Print && by == nil:
			by = n.Expr
		default:
			return ""
		}
	}
	if by == nil || !ofFact(by) {
		return ""
	}
	base := filepath.Join(t.File.Dir, "templates")
	content, fact := "", ""
	for _, path := range t.File.To.From.Files(base) {
		rel, err := filepath.Rel(base, path)
		word, is := strings.CutPrefix(filepath.ToSlash(rel), before)
		if err != nil || !is || !strings.HasSuffix(word, after) || strings.Contains(word[:len(word)-len(after)], "/") {
			continue
		}
		word = strings.TrimSuffix(word, after)
		condition, err := t.W.Write(&j2.Expr{Op: j2.Binary, Text: "==", Args: []*j2.Expr{by, {Op: j2.Literal, Lit: word}}})
		if err != nil {
			continue // no host has this value
		}
		fact, _, _ = strings.Cut(condition.Text, " ")
		content += condition.In(expression.CondPrec+1) + " ? " + convert(before+word+after) + " : "
	}
	if content == "" {
		return ""
	}
	return content + "({'': ''})[" + fact + "]"
}

// maxChosen bounds the templates between which an expression chooses.
const maxChosen = 30

// anyTemplate writes a choice between all templates of the role whose needs are known, for a name that is an expression; ""
// if there are none. Any other name is an error of the run.
func anyTemplate(t *task.Task, src *yaml.Node, header string, vars *[]expression.Var) string {
	e, err := expression.ExprOf(src)
	if err != nil {
		return ""
	}
	name, err := t.W.Write(e)
	base := filepath.Join(t.File.Dir, "templates")
	files := t.File.To.From.Files(base)
	if err != nil || len(files) > maxChosen {
		return ""
	}
	content := ""
	for _, path := range files {
		rel, err := filepath.Rel(base, path)
		if err != nil {
			continue
		}
		found, needed, err := t.File.Template(filepath.ToSlash(rel), header, t.Scope)
		if err != nil {
			continue
		}
		for _, v := range needed {
			if !slices.Contains(*vars, v) {
				*vars = append(*vars, v)
			}
		}
		content += name.In(expression.Whole) + " == " + expression.QuoteText(filepath.ToSlash(rel)) + " ? template('" + found + "') : "
	}
	if content == "" {
		return ""
	}
	return content + "({'': ''})[" + name.Text + "]"
}

// ofFact reports whether an expression is a fact of Ansible, or one in small letters.
func ofFact(e *j2.Expr) bool {
	if e.Op == j2.Filter && e.Text == "lower" && len(e.Args) == 1 {
		e = e.Args[0]
	}
	return e.Op == j2.Name && strings.HasPrefix(e.Text, "ansible_") || e.Op == j2.Attr && e.Args[0].Op == j2.Name && e.Args[0].Text == "ansible_facts"
}

// contentOf is the content of a file, as text. One that is a value as YAML, and nothing else, is that as JSON.
func contentOf(t *task.Task, content *yaml.Node) string {
	x := expression.SoleExpr(content)
	if x == nil {
		if likeJSON(content) {
			t.Problem("a content in brackets that has an expression: Ansible writes a value that is a list or a map again, as JSON")
		}
		return t.Text(content)
	}
	if x.Op == j2.Filter && (x.Text == "to_nice_yaml" || x.Text == "to_yaml") {
		v, err := t.W.Write(x.Args[0])
		t.Fail(err)
		t.Note("%s; the file has it as JSON, which is YAML", x.Text)
		return "{{ toJSON(" + v.Text + ") }}\n"
	}
	v, err := t.W.Write(x)
	if err == nil {
		_, err = t.W.Printed(v)
	}
	t.Fail(err)
	if v.Kind == expression.MapKind || v.Kind == expression.ListKind {
		t.Problem("a content that is a list or a map")
	}
	return t.Text(content)
}

// likeJSON reports whether Ansible may read the value of a text as a list or a map: it has an expression, and is in brackets.
func likeJSON(n *yaml.Node) bool {
	s := strings.TrimSpace(n.Value)
	list := strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]")
	return yamlnode.HasJinja(n) && (list || strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && !j2.HasTags(s[:2]))
}

// templatesOf are the templates that a name may mean: one, or in a loop over a literal list those of its elements, with a
// condition for each of them but the last. There are none if a name is computed otherwise.
func templatesOf(t *task.Task, src *yaml.Node) (names, conditions []string) {
	if name, ok := t.W.Fixed(src.Value); ok {
		return []string{name}, nil
	}
	parts, err := t.W.Parts(src.Value)
	t.Fail(err)
	by := -1
	for i, p := range parts {
		if p.Term == nil {
			continue
		}
		if _, fixed := expression.LiteralOf(p.Term.Text); !fixed && by < 0 {
			by = i
		} else if !fixed {
			by = len(parts) // there are several
		}
	}
	for _, w := range t.Elements() {
		name, ok := w.Fixed(src.Value)
		if !ok {
			return nil, nil
		}
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if by < len(parts) {
			of, _ := w.Parts(src.Value)
			conditions = append(conditions, parts[by].Term.In(expression.Whole)+" == "+of[by].Term.Text)
		}
	}
	if len(names) > 1 && len(conditions) == 0 {
		return nil, nil
	}
	return names, conditions
}

func downloadTask(t *task.Task) {
	url := t.Arg("url")
	if url == nil {
		t.Problem("get_url without url")
		return
	}
	e := &layout.Entry{Type: "file", Name: t.Place(t.Arg("dest"))}
	if dest := t.Arg("dest"); dest != nil && strings.HasSuffix(dest.Value, "/") {
		e.Name += "/" + path.Base(t.Text(url))
	}
	e.SetText("source", t.Text(url))
	if role.FromHost(e.Get("source").Value, t.File) {
		t.Problem("a download from a URL that a host has sent: use data of the inventory")
	}
	sum := t.Arg("checksum", "sha256sum")
	switch {
	case sum == nil:
		if strings.HasPrefix(url.Value, "http://") {
			t.Problem("a download over http without a checksum")
		}
		e.SetText("checksum", "none")
		t.Note("get_url without a checksum; it is downloaded in each run, and where it differs it is replaced")
	case strings.HasPrefix(sum.Value, "sha256:") && !strings.Contains(sum.Value, "http"):
		t.Put(e, "checksum", sum)
	case t.Args["sha256sum"] != nil:
		t.Put(e, "checksum", sum)
	default:
		t.Problem("a checksum that is no SHA-256: %s", expression.Shortened(sum.Value))
	}
	putAttributes(t, e)
	t.Write(e)
}

func archiveTask(t *task.Task) {
	src, dest := t.Arg("src"), t.Arg("dest")
	if src == nil || dest == nil {
		t.Problem("unarchive without src and dest")
		return
	}
	url := t.Text(src)
	creates := t.Arg("creates")
	switch {
	case !strings.Contains(url, "://") && !strings.HasPrefix(url, "{{ Data."):
		t.Problem("an archive that is not behind a URL")
		return
	case !strings.Contains(url, "://"):
		t.Problem("an archive whose URL is a variable: its name says what it is")
		return
	case creates == nil:
		t.Problem("unarchive without creates: what says that it has been unpacked?")
		return
	}
	e := &layout.Entry{Type: "archive", Name: "/var/cache/" + path.Base(url)}
	if strings.Contains(path.Base(url), "}}") && !strings.Contains(path.Base(url), "{{") {
		t.Problem("an archive whose name is not known")
	}
	e.SetText("url", url)
	e.SetText("extract_parent", t.Place(dest))
	t.Put(e, "creates", creates)
	e.Set("cleanup", yamlnode.Bool(true))
	t.Write(e)
}

// fetchTask is a file that comes into the record of the run, wherever it was to go.
func fetchTask(t *task.Task) {
	n := t.Arg("src")
	if n == nil {
		t.Problem("fetch without src")
		return
	}
	if t.Arg("dest") != nil {
		t.Note("dest: the file is in the folder of the run's record, fetched/HOST/PATH")
	}
	e := &layout.Entry{Type: "fetch", Name: t.Text(n)}
	if n := t.Arg("fail_on_missing"); n != nil {
		must, literal := yamlnode.BoolOf(n)
		if !literal {
			t.Problem("fail_on_missing of fetch that is an expression")
			return
		}
		if !must {
			e.Set("optional", yamlnode.Bool(true))
		}
	}
	t.Write(e)
}

package role

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A File is one of a role, with tasks or data. What expressions in it ask for, it answers
// ([expression.Surroundings]).
type File struct {
	*Role
	Path string
}

// File is one of the role.
func (r *Role) File(path string) File { return File{r, path} }

// Scope is what names mean in the file.
func (f File) Scope() *expression.Scope {
	return &expression.Scope{Names: map[string]expression.Binding{}, Files: f}
}

// Position is a line of the file, as reports have it.
func (f File) Position(line int) string { return output.Position(f.To.Shown(f.Path), line) }

// Leave tells of a line that is not carried over.
func (f File) Leave(line int, what, why string) {
	f.To.Report.Leave(f.To.Shown(f.Path), line, what, why)
}

// KindOf returns the type that all known values of a variable have.
func (f File) KindOf(name string) expression.Kind {
	kinds := f.Known.Overrides[name]
	_, given := f.Inventory[name]
	if len(kinds) == 0 || given || f.Beside[name] != nil || f.Data[name] != nil {
		kinds = append(slices.Clip(kinds), kindOf(name, f))
	}
	return expression.KindOfAll(kinds)
}

// kindOf is the type of a variable, as far as defaults, vars and the inventory show it.
func kindOf(name string, f File) expression.Kind {
	if v, ok := f.Inventory[name]; ok {
		if _, beside := f.Beside[name]; !beside { // which has precedence
			return expression.KindOfValue(v)
		}
	}
	if n, beside := f.Beside[name]; beside {
		return expression.KindOfNode(n)
	}
	if set := f.Facts[name]; set != nil && len(set.included) > 0 {
		if kind := set.kindOfIncluded(); f.Data[name] == nil || expression.KindOfNode(f.Data[name]) == kind {
			return kind
		}
		return expression.AnyKind
	}
	return expression.KindOfNode(f.Data[name])
}

// Optional reports whether a variable is nil where no file of include_vars has it.
func (f File) Optional(name string) bool {
	set := f.Facts[name]
	return set != nil && set.Why == "" && set.maybe
}

// Given reports whether the inventory has a variable.
func (f File) Given(name string) bool {
	_, given := f.Inventory[name]
	_, beside := f.Beside[name]
	return given && !beside
}

// Defines reports whether the data of the role, of the play around it, or of the inventory has a variable.
func (f File) Defines(name string) bool {
	_, given := f.Inventory[name]
	_, own := f.Data[name]
	return given || own || f.To.Variables[name] || f.Known.Overrides[name] != nil
}

// NodeOf is what a path such as x.y.z of data leads to; nil if it is not known here.
func (f File) NodeOf(e *j2.Expr) *yaml.Node {
	switch e.Op {
	case j2.Name:
		if _, given := f.Inventory[e.Text]; given || f.Known.Overrides[e.Text] != nil || f.Facts[e.Text] != nil && len(f.Facts[e.Text].included) > 0 {
			return nil
		}
		return f.Data[e.Text]
	case j2.Attr:
		return yamlnode.Get(f.NodeOf(e.Args[0]), e.Text)
	case j2.Index:
		if s, ok := e.Args[1].Lit.(string); ok {
			return yamlnode.Get(f.NodeOf(e.Args[0]), s)
		}
	}
	return nil
}

// BuiltOn reports whether data of the role has a value that reads a variable.
func BuiltOn(name string, f File) bool {
	for _, n := range f.Data {
		if n != nil && reads(n, f, map[string]bool{}, func(word string) bool { return word == name }) {
			return true
		}
	}
	return false
}

// Overridden reports whether an expression reads variables to which scopes or tasks give other values than the play.
func Overridden(text string, f File) bool {
	return reads(yamlnode.Text("{{"+text), f, map[string]bool{}, func(word string) bool { return f.Known.Overrides[word] != nil })
}

// FromHost reports whether an expression reads what a host sends: facts, results, and data that is made of them.
func FromHost(text string, f File) bool {
	return reads(yamlnode.Text("{{"+text), f, map[string]bool{}, func(word string) bool {
		return word == "Facts" || word == "Results" || f.Known.Sent[word] || f.To.Known.Sent[word] || f.Facts[word] != nil || strings.HasPrefix(word, "ansible_") && !f.Given(word)
	})
}

// NoteSent notes that a variable gets a value, if a host sends a part of the value.
func NoteSent(name string, v *yaml.Node, f File) {
	if v != nil && FromHost(string(yamlnode.Encode(v)), f) {
		f.To.Known.Sent[name] = true
	}
}

// reads reports whether the expressions of a value, or of data that they read, contain one of some names.
func reads(n *yaml.Node, f File, seen map[string]bool, is func(string) bool) (found bool) {
	yamlnode.Walk(n, func(scalar *yaml.Node) {
		if !yamlnode.HasJinja(scalar) {
			return
		}
		for _, word := range strings.FieldsFunc(scalar.Value, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if found = found || is(word); !found && !seen[word] && f.Data[word] != nil {
				seen[word] = true
				found = reads(f.Data[word], f, seen, is)
			}
		}
	})
	return found
}

// OnlyHere reports whether other files of the role omit a name.
func (f File) OnlyHere(name string) bool {
	for _, path := range f.texts() {
		text, err := f.To.From.ReadFile(path)
		if err != nil || path != f.Path && expression.WordIn(string(text), name) {
			return false
		}
	}
	return true
}

// texts are the files in which names may be mentioned.
func (f File) texts() (list []string) {
	if f.Name == "" {
		return []string{f.Path}
	}
	for _, path := range f.To.From.Files(f.Dir) {
		if f.To.From.IsFile(path) && slices.Contains([]string{".yml", ".yaml", ".j2"}, filepath.Ext(path)) {
			list = append(list, path)
		}
	}
	return list
}

// RoleName is how the role is called.
func (f File) RoleName() string { return f.Name }

// ResultOf is what a task registers.
func (f File) ResultOf(name string) (*expression.Result, bool) {
	r, ok := f.results[name]
	if ok && r.File != f.Path && f.Apart[Ask{f.Path, name}] {
		apart := *r
		apart.Apart = f.To.Shown(r.File)
		return &apart, true
	}
	return r, ok
}

// Sets reports whether tasks set a variable.
func (f File) Sets(name string) bool { return f.Known.Sets[name] }

// Ask has the plays of the role ask for a fact, unless something may change before a module gathers it.
func (f File) Ask(name string, q facts.Query) error {
	switch old, there := f.Asks[name]; {
	case q.Command == "" && !f.Certain(q):
		return expression.Unknown("what the module gathers: something before it may change it, or nothing gathers it")
	case there && old != q:
		return expression.Unknown("two facts that would be called %s", name)
	}
	f.Asks[name] = q
	return nil
}

// LocalFile finds a file of the role, and gives its path from the role's manifests.
func (f File) LocalFile(kind, name string) (string, error) {
	for _, base := range []string{filepath.Join(f.Dir, kind), f.Dir, filepath.Dir(f.Path)} {
		path := filepath.Join(base, name)
		if !f.To.From.IsFile(path) {
			continue
		}
		rel, err := filepath.Rel(f.Dir, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return "", expression.Unknown("the file %s, which is outside of the role", name)
		}
		if err := f.To.CopyOne(path, f.Below(filepath.ToSlash(rel))); err != nil {
			return "", expression.Unknown("%v", err)
		}
		return filepath.ToSlash(rel), nil
	}
	return "", expression.Unknown("the file %s, which is not there", name)
}

// Tree copies a folder of files/, or all of these for "", and gives its path from the role's manifests.
func (f File) Tree(name string) (path string, there bool) {
	dir := filepath.Join(f.Dir, "files", name)
	if !f.To.From.IsFolder(dir) {
		return "", false
	}
	rel, _ := filepath.Rel(f.Dir, dir)
	if !f.copied {
		f.To.Copy(dir, f.Below(filepath.ToSlash(rel)))
	}
	f.copied = f.copied || name == ""
	return filepath.ToSlash(rel), true
}

// Glob copies the files that a pattern of with_fileglob names, and gives their paths from the role's manifests.
func (f File) Glob(pattern string) (list []string) {
	for _, base := range []string{filepath.Join(f.Dir, "files"), f.Dir} {
		found := f.To.From.Glob(filepath.Join(base, pattern))
		for _, path := range found {
			if rel, err := filepath.Rel(base, path); err == nil && f.To.From.IsFile(path) {
				if _, err := f.LocalFile("files", rel); err == nil {
					below, _ := filepath.Rel(f.Dir, path)
					list = append(list, filepath.ToSlash(below))
				}
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return list
}

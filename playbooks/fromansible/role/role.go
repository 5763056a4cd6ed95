// Package role knows what a role has, or the play that tasks stand in: its variables, files and templates, and what
// its tasks register and set. What becomes of its tasks is told elsewhere.
//
// role.go begins; file.go answers what expressions ask; template.go copies templates; data.go writes variables; survey.go reads over all
// tasks before any of them is converted, and chosenvars.go the files of variables that they choose by facts.
package role

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
)

// A Role is a folder with tasks, templates and files. What stands beside a playbook is one
// without a name.
type Role struct {
	Name string
	Dir  string // where it is
	Out  string // where what becomes of it is, below the folder that is written; "" for the top
	Around

	Data     map[string]*yaml.Node // of defaults and vars
	Files    []string              // of data, that are written
	Vars     map[string]bool       // the names in Data that vars has, not defaults alone
	Facts    map[string]*Fact      // variables of include_vars, in files that facts choose
	Own      *yaml.Node            // defaults that other roles have too, which are data of its own manifests; nil without any
	Defaults *yaml.Node            // module_defaults of a play
	Became   bool                  // a task of it asks for root
	Asks     facts.Queries         // the facts that plays have to ask for

	results   map[string]*expression.Result // what its tasks register
	asked     map[string][]string           // what is asked of the results of stat
	variables []variable
	copied    bool // all of files/ is
	text      string
}

// Around is what roles share.
type Around struct {
	To        *output.Output
	Inventory map[string]any         // variables that go over those of roles
	Beside    map[string]*yaml.Node  // variables of the folders group_vars and host_vars, which have precedence
	Certain   func(facts.Query) bool // what a module gathers is the same before the run
	Known     output.Known           // of the conversion before this one
	Apart     map[Ask]bool           // what files ask for that are carried out without the tasks that register it, too
}

// An Ask is a result that a file of tasks asks for.
type Ask struct{ File, Result string }

// New is a role that is not read yet.
func New(name, dir, out string, around Around) *Role {
	return &Role{
		Name: name, Dir: dir, Out: out, Around: around, Data: map[string]*yaml.Node{}, Asks: facts.Queries{}, asked: map[string][]string{}, Facts: map[string]*Fact{}, Vars: map[string]bool{},
		results: map[string]*expression.Result{},
	}
}

// Below is a path in the role, as one below the folder that is written.
func (r *Role) Below(path string) string { return strings.TrimPrefix(r.Out+"/"+path, "/") }

// CopyAll copies the templates, files and variables of the role that nothing has copied yet: those that no task names, too.
func (r *Role) CopyAll() {
	for _, part := range []string{"templates", "files", "vars"} {
		dir := filepath.Join(r.Dir, part)
		for _, path := range r.To.From.Files(dir) {
			rel, err := filepath.Rel(r.Dir, path)
			to := r.Below(filepath.ToSlash(rel))
			if main := part == "vars" && strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) == "main"; err != nil || main {
				continue // which is data
			}
			if _, there := r.To.Files[to]; !there {
				r.To.Copy(path, to)
			}
		}
	}
}

// Seen is a path below the folder that is written, seen from the manifests of the role.
func (r *Role) Seen(path string) string {
	if r.Out == "" {
		return path
	}
	rel, err := filepath.Rel(r.Out, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// Register has a name be the result of a task.
func (r *Role) Register(name string, result *expression.Result) { r.results[name] = result }

// Mentions reports whether a text stands in any task of the role; those of a play are all that its file has.
func (f File) Mentions(text string) bool {
	r := f.Role
	if r.text == "" {
		var b strings.Builder
		if r.Name == "" {
			all, _ := f.To.From.ReadFile(f.Path)
			b.Write(all)
		} else {
			for _, path := range TaskFiles(f.To.From, r.Dir) {
				all, _ := f.To.From.ReadFile(path)
				b.Write(all)
			}
		}
		r.text = b.String() + " "
	}
	return strings.Contains(r.text, text)
}

// ModuleDefaults are the arguments that module_defaults of the play give to a module, which name calls by the name
// of the table of modules.
func (r *Role) ModuleDefaults(module string, name func(string) string) map[string]*yaml.Node {
	list := map[string]*yaml.Node{}
	if r.Defaults == nil {
		return list
	}
	for i := 0; i+1 < len(r.Defaults.Content); i += 2 {
		if v := r.Defaults.Content[i+1]; name(r.Defaults.Content[i].Value) == module && v.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(v.Content); j += 2 {
				list[v.Content[j].Value] = v.Content[j+1]
			}
		}
	}
	return list
}

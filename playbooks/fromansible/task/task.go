// Package task carries over one task of Ansible. Its module writes entries with the methods of [Task]; what the
// loop around it and its keywords become is decided here, for all modules alike.
//
// task.go is what there is of a task; read.go takes it apart; vars.go, loops.go and keywords.go carry over what stands
// beside its module, each keyword by a function of a table; write.go is what modules are written with.
package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// A Conversion is what tasks of all files share.
type Conversion struct {
	Types   modules.Registry
	Mixed   map[string]bool // tasks without become, by their places, in plays that other tasks make root's
	Cache   string          // how old lists of packages may be, where a task of its own fetches them
	Fetched string          // the same, as far as tasks have been carried over
	Certain map[string]bool // of tasks that look, by their places: nothing before them may change what they look at

	registered map[string]int    // how often a name was
	results    map[string]string // what tasks call what they register, by what it is called here
}

// A Task is one that is being carried over.
type Task struct {
	File  role.File // it stands in
	Node  *yaml.Node
	Scope *expression.Scope
	W     *expression.Writer // of its scope

	Name      string
	Module    string                // by its name in playbooks/manifest/ansible
	Args      map[string]*yaml.Node // of the module
	Order     []string              // of Args
	Line      string                // of a module that takes a line of text
	Keywords  map[string]*yaml.Node
	Around    Around
	IsHandler bool
	Handled   func(name string) bool // a handler is called so
	Cache     string                 // maximum age of package lists, from a task of its own; empty means none
	Fetched   *string                // the same, for all tasks of the next conversion

	Entries  []*layout.Entry
	Main     *layout.Entry // that the keywords are about
	Problems []string      // why it is not carried over
	Plain    bool          // a loop's elements are written into it: each is not
	Result   *expression.Result

	of    *Conversion
	vars  *yaml.Node   // of the entries; nil without any
	look  *layout.Look // nil if it does more than that
	notes []string     // what is different, in the report
}

// Around is what the blocks around a task say.
type Around struct {
	Environment *yaml.Node
	BecomeUser  string
	Become      bool
	Ignore      bool // ignore_errors
	Conditional bool // they are not always carried out, or elsewhere
	Delegated   bool
}

// ResultOf is what tasks call a result, which is called name in what is written.
func (c *Conversion) ResultOf(name string) string { return c.results[name] }

// New reads a task of a file; s is what names mean around it.
func (c *Conversion) New(f role.File, n *yaml.Node, s *expression.Scope, around Around) *Task {
	t := c.task(f, n, s, around)
	read(t)
	return t
}

// NewBlock is the task that a block is: without a module, and with the keywords that it is given later.
func (c *Conversion) NewBlock(f role.File, n *yaml.Node, s *expression.Scope, around Around) *Task {
	t := c.task(f, n, s, around)
	t.Module = "block"
	return t
}

func (c *Conversion) task(f role.File, n *yaml.Node, s *expression.Scope, around Around) *Task {
	s = s.Child()
	return &Task{of: c, Cache: c.Cache, Fetched: &c.Fetched, File: f, Node: n, Scope: s, W: &expression.Writer{Scope: s}, Keywords: map[string]*yaml.Node{}, Args: map[string]*yaml.Node{}, Around: around}
}

// Convert has the module and the keywords write entries. carry is the function of the module; nil if it has none.
func (t *Task) Convert(carry func(*Task)) {
	loop(t)
	variables(t)
	registers(t)
	switch {
	case t.Module == "":
		t.Problem("there is no module")
	case carry == nil:
		t.Problem("%s", whyNot(t.Module))
	default:
		checkArgs(t)
		carry(t)
	}
	if len(t.Problems) == 0 || t.Main != nil {
		t.ApplyKeywords()
	}
	if t.of.Mixed[t.File.Position(t.Node.Line)] {
		t.Problem("a task without become in a play that other tasks make root's: write owner, or two plays")
	}
}

// whyNot says why a module is not carried over.
func whyNot(module string) string {
	m, ok := ansible.Find(module)
	if ok && m.Gap != "" {
		return "the module " + module + ": " + m.Gap
	}
	if ok && m.Type == "" {
		return "the module " + module + ": " + m.Write
	}
	return "the module " + module + " has no counterpart"
}

// Finish gives the entries, and tells the report. What cannot be carried over is an entry that says so.
func (t *Task) Finish() []*layout.Entry {
	rep := &t.File.To.Report
	rep.Count(t.Module, slices.Sorted(maps.Keys(t.Keywords)), len(t.Problems) == 0)
	where := t.File.Position(t.Node.Line)
	if len(t.Problems) > 0 {
		why := strings.Join(t.Problems, "; ")
		t.File.Leave(t.Node.Line, t.Module, why)
		if t.Result != nil {
			t.Result.Dead = where
			if name := t.Keywords["register"]; name != nil {
				t.File.Register(name.Value, t.Result)
			}
		}
		todo := layout.Todo(where, why, t.Node)
		todo.Look, todo.Does = t.look, t.Main
		if harmless[t.Module] {
			todo.Does = layout.Nothing
		}
		return []*layout.Entry{todo}
	}
	for _, e := range t.Entries {
		e.Look = t.look
	}
	layout.Walk(t.Entries, func(e *layout.Entry) { e.File = t.File.Path })
	if t.Main != nil && asUser(t.Main, t) {
		t.Main.Plain = where
	}
	for _, note := range t.notes {
		rep.Note(t.File.To.Shown(t.File.Path), t.Node.Line, note)
	}
	if len(t.Entries) > 0 && t.Name != "" && t.Name != t.Entries[0].Name {
		t.Entries[0].Comments = append([]string{t.Name}, t.Entries[0].Comments...)
	}
	return t.Entries
}

// writers are types that write files as the user who runs them.
var writers = []string{"file", "line", "replace", "ini", "link", "scaffold", "archive", "git", "exec"}

// asUser reports whether a task without become acts as the user that logs in, and leaves files of this user.
func asUser(e *layout.Entry, t *Task) bool {
	return t.Keywords["become"] == nil && !t.Around.Become && !onController(t) && slices.Contains(writers, e.Type) &&
		e.Get("owner") == nil && e.Get("user") == nil && !yamlnode.IsTrue(e.Get("readonly"))
}

// harmless are modules that change nothing on a host.
var harmless = map[string]bool{
	"add_host": true, "assert": true, "debug": true, "fail": true, "find": true, "gather_facts": true, "getent": true, "group_by": true, "include_vars": true, "package_facts": true, "pause": true, "ping": true,
	"service_facts": true, "set_fact": true, "setup": true, "slurp": true, "stat": true, "wait_for": true, "wait_for_connection": true,
}

// Problem says why the task is not carried over.
func (t *Task) Problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(t.Problems, text) {
		t.Problems = append(t.Problems, text)
	}
}

// Fail is a problem for each line of an error, if there is one.
func (t *Task) Fail(err error) {
	if err == nil {
		return
	}
	for _, one := range strings.Split(err.Error(), "\n") {
		t.Problem("%s", one)
	}
}

// Note says what is different, in the report.
func (t *Task) Note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// registers has the name of the result be known to what comes later.
func registers(t *Task) {
	n := t.Keywords["register"]
	if n == nil {
		return
	}
	if !expression.IsWord(n.Value) {
		t.Problem("register with this name")
		return
	}
	t.Result = &expression.Result{Module: t.Module, File: t.File.Path, Looped: t.IsLoop(), Asked: t.File.Asked(n.Value)}
	if t.Result.Looped {
		t.Result.Asked = append(t.Result.Asked, t.File.Asked("item")...)
	}
}

// registered writes register at an entry; names of results are unique in all that is written.
func registered(t *Task, e *layout.Entry) {
	n := t.Keywords["register"]
	if n == nil || t.Result == nil {
		return
	}
	name := n.Value
	name = t.of.unique(name)
	t.Result.Base = "Results." + name
	t.File.Register(n.Value, t.Result)
	e.SetText("register", name)
	if t.of.results == nil {
		t.of.results = map[string]string{}
	}
	t.of.results[name] = n.Value
}

// longestName is how long the name of a result is here, without a number behind it.
const longestName = 60

// unique is a name for what a task registers, with a number behind it if another one has it.
func (c *Conversion) unique(name string) string {
	if c.registered == nil {
		c.registered = map[string]int{}
	}
	if len(name) > longestName {
		name = name[:longestName]
	}
	c.registered[name]++
	if count := c.registered[name]; count > 1 {
		name = fmt.Sprintf("%s_%d", name, count)
		c.registered[name]++
	}
	return name
}

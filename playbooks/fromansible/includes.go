package fromansible

import (
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

// setFact sets variables at the place of the task.
func (r reader) setFact(t *task.Task) {
	names := slices.DeleteFunc(slices.Clone(t.Order), func(name string) bool { return name == "cacheable" })
	fixed := r.u.Name == "" && len(t.Keywords) == 0 && t.Around == task.Around{} && !t.IsHandler
	for _, m := range r.u.made {
		fixed = fixed && m.source != r.f.Path
	}
	data := yamlnode.Map()
	for _, name := range names {
		n := t.Args[name]
		switch {
		case expression.IsFact(name):
			t.Problem("set_fact of %s, which Ansible itself sets", name)
		case !expression.IsWord(name):
			t.Problem("set_fact of %s", name)
		}
		if slices.Contains([]string{"true", "false", "yes", "no"}, strings.ToLower(n.Value)) { // also of a text
			b, _ := yamlnode.BoolOf(n)
			n = yamlnode.Bool(b)
		}
		v, kind, err := expression.Typed(n, t.W)
		t.Fail(err)
		t.File.To.Override(name, kind)
		t.File.To.Known.Sets[name] = true
		role.NoteSent(name, v, t.File)
		data.Content = append(data.Content, yamlnode.Text(name), v)
		if r.u.sets[name] = nil; fixed && !yamlnode.HasJinja(n) {
			r.u.sets[name] = v
		}
	}
	for _, key := range []string{"register", "notify", "failed_when", "until", "run_once", "delegate_facts"} {
		if t.Keywords[key] != nil {
			t.Problem("%s of set_fact", key)
		}
	}
	for _, key := range []string{"become", "become_user", "become_method", "changed_when", "check_mode", "delegate_to", "diff", "environment", "ignore_errors"} {
		delete(t.Keywords, key) // they make no difference here
	}
	t.Around = task.Around{}
	e := t.Named("set", strings.Join(names, ", "))
	e.Set("data", data)
	t.Write(e)
}

// applyTasks applies the manifest of a file of tasks.
func (r reader) applyTasks(t *task.Task) {
	name := t.Line
	if n := t.Arg("file"); n != nil {
		name = n.Value
	}
	common(t)
	if !j2.HasTags(name) {
		if found := r.findTasks(name); found != "" {
			r.apply(t, r.u.tasksFile(found))
			return
		}
		t.Problem("the file %s, which is not there", name)
		return
	}
	if literal, ok := t.W.Fixed(name); ok {
		if found := r.findTasks(literal); found != "" {
			r.apply(t, r.u.tasksFile(found))
			return
		}
	}
	r.chosen(t, name)
}

// common refuses keywords that a manifest that is applied cannot have.
func common(t *task.Task) {
	if t.Keywords["register"] != nil {
		t.Problem("register of tasks that are included")
		delete(t.Keywords, "register")
	}
}

// findTasks finds a file of tasks by what an include calls it.
func (r reader) findTasks(name string) string {
	for _, base := range []string{filepath.Dir(r.f.Path), filepath.Join(r.u.Dir, "tasks"), r.u.Dir} {
		if path := r.u.c.out.From.YAMLFile(filepath.Join(base, name)); path != "" {
			return filepath.Clean(path)
		}
	}
	return ""
}

// apply writes an entry that applies a manifest.
func (r reader) apply(t *task.Task, m *manifestFile) *layout.Entry {
	switch {
	case !m.read: // it is being read
		t.Problem("a file of tasks that includes itself")
		return &layout.Entry{}
	case !hasResources(m.entries):
		t.Nothing(path.Base(m.path) + " has no resources")
		return t.Entries[len(t.Entries)-1]
	}
	name := m.path
	if path.Base(name) == "manifest.yaml" {
		name = path.Dir(name)
	}
	e := &layout.Entry{Type: "apply", Name: r.u.Seen(name)}
	t.Main = e
	t.Entries = append(t.Entries, t.Looped(e))
	return e
}

var expressionInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?\}\}`) })

// chosen applies one of the files that a name with an expression may mean: which one is decided by
// control.
func (r reader) chosen(t *task.Task, name string) {
	if t.IsLoop() || len(expressionInText().FindAllString(name, -1)) != 1 {
		t.Problem("an include whose name is an expression: %s", expression.Shortened(name))
		return
	}
	at := expressionInText().FindStringIndex(name)
	before, after := name[:at[0]], name[at[1]:]
	x := expression.SoleExpr(yamlnode.Text(name[at[0]:at[1]]))
	if x == nil {
		t.Problem("an include whose name is an expression: %s", expression.Shortened(name))
		return
	}
	if !strings.Contains(after, ".") {
		after += ".yml"
	}
	found := false
	for _, base := range []string{filepath.Dir(r.f.Path), filepath.Join(r.u.Dir, "tasks")} {
		for _, file := range r.u.c.out.From.Glob(filepath.Join(base, before+"*"+after)) {
			word := strings.TrimSuffix(strings.TrimPrefix(file, base+"/"+before), after)
			if file == r.f.Path || word == "main" {
				continue
			}
			condition, err := t.W.Write(&j2.Expr{Op: j2.Binary, Text: "==", Args: []*j2.Expr{x, {Op: j2.Literal, Lit: word}}})
			if err != nil {
				continue // a file that this expression does not name
			}
			found = true
			e := r.apply(t, r.u.tasksFile(file))
			e.Set("control", task.Control([]*yaml.Node{yamlnode.Text(condition.Text)}))
		}
		if found {
			return
		}
	}
	t.Problem("an include whose name is an expression: %s", expression.Shortened(name))
}

// applyRole applies the manifest of a role.
func (r reader) applyRole(t *task.Task) {
	common(t)
	n := t.Arg("name", "role")
	if n == nil {
		t.Problem("%s without a name", t.Module)
		return
	}
	name, ok := t.W.Fixed(n.Value)
	if !ok {
		t.Problem("a role whose name is an expression: %s", expression.Shortened(n.Value))
		return
	}
	found := r.u.c.findRole(name, filepath.Dir(r.f.Path), r.u)
	if found == "" {
		t.Problem("the role %s, which is not there", name)
		return
	}
	other := r.u.c.readRole(found)
	file := "main"
	if from := t.Arg("tasks_from"); from != nil {
		literal, ok := t.W.Fixed(from.Value)
		if !ok {
			t.Problem("tasks_from that is an expression: %s", expression.Shortened(from.Value))
			return
		}
		file = strings.TrimSuffix(strings.TrimSuffix(literal, ".yml"), ".yaml")
	}
	m := other.made[file]
	if path := r.u.c.out.From.YAMLFile(filepath.Join(other.Dir, "tasks", file)); m == nil && path != "" {
		m = other.tasksFile(path)
	}
	if m == nil {
		t.Problem("the tasks %s of the role %s, which are not there", file, name)
		return
	}
	for _, one := range r.u.c.needed(other) {
		if one != r.u && !slices.Contains(r.u.uses, one) {
			r.u.uses = append(r.u.uses, one)
		}
	}
	r.apply(t, m)
}

// includeVars has a file of variables be data of the role.
func (r reader) includeVars(t *task.Task) {
	name := t.Line
	if n := t.Arg("file"); n != nil {
		name = n.Value
	}
	if chosen := t.File.ChosenVars(t.Node); len(chosen) > 0 {
		for _, name := range chosen {
			switch f := t.File.Facts[name]; {
			case f == nil:
				t.Problem("include_vars in a block with variables of its own")
			case f.Why != "":
				t.Problem("%s", f.Why)
			}
		}
		delete(t.Keywords, "when")
		t.Plain = true
		t.Entries = append(t.Entries, &layout.Entry{Comments: []string{"data, in facts.yaml: " + strings.Join(chosen, ", ")}})
		return
	}
	if j2.HasTags(name) || name == "" || t.IsLoop() || t.Keywords["when"] != nil {
		t.Problem("include_vars of what only a host decides: write hierarchy and overrides at the play")
		return
	}
	for _, base := range []string{filepath.Join(r.u.Dir, "vars"), r.u.Dir, filepath.Dir(r.f.Path)} {
		if path := r.u.c.out.From.YAMLFile(filepath.Join(base, name)); path != "" {
			to := r.u.Below("vars-" + strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".yaml")
			if _, there := r.u.c.out.Files[to]; !there {
				r.u.ReadDataFile(path, to)
			}
			t.Nothing("stands in " + filepath.Base(to))
			return
		}
	}
	t.Problem("the file %s, which is not there", name)
}

func (r reader) meta(t *task.Task) {
	switch t.Line {
	case "flush_handlers":
		if t.Keywords["when"] != nil {
			t.Problem("flush_handlers with a condition")
			return
		}
		t.Entries = append(t.Entries, r.u.flush(nil)...)
		t.Nothing("what has subscribed is refreshed above")
	case "clear_facts", "refresh_inventory", "reset_connection", "noop", "clear_host_errors":
		t.Nothing("meta " + t.Line + " needs no counterpart")
	default:
		t.Problem("meta: %s", t.Line)
	}
	t.Plain = true
}

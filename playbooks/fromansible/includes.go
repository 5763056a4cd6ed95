package fromansible

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// setFactTask says where the variables that it sets are.
func setFactTask(t *task) {
	where := ""
	for _, name := range t.order {
		if name == "cacheable" {
			continue
		}
		f := t.c.role.facts[name]
		switch {
		case f == nil:
			t.problem("set_fact of %s", name)
		case f.why != "":
			t.problem("%s", f.why)
		case f.data:
			where = "stands in facts.yaml: "
		default:
			where = "stands where it is used: "
			probe := &expression.Writer{Scope: t.scope}
			if _, err := probe.Write(t.c.role.values[name]); err != nil {
				t.fail(err)
			}
		}
	}
	for _, key := range []string{"register", "notify", "failed_when", "until"} {
		if t.keywords[key] != nil {
			t.problem("%s of set_fact", key)
		}
	}
	delete(t.keywords, "when")
	t.plain = true
	t.entries = append(t.entries, &layout.Entry{Comments: []string{where + strings.Join(t.order, ", ")}})
}

// includeTask applies the manifest of a file of tasks.
func includeTask(t *task) {
	t.checkArgs()
	name := t.free
	if n := t.arg("file"); n != nil {
		name = n.Value
	}
	t.common()
	if !j2.HasTags(name) {
		if found := t.c.findTasks(name); found != "" {
			t.apply(t.c.tasksFile(found))
			return
		}
		t.problem("the file %s, which is not there", name)
		return
	}
	if literal, ok := t.literalText(name); ok {
		if found := t.c.findTasks(literal); found != "" {
			t.apply(t.c.tasksFile(found))
			return
		}
	}
	t.chosen(name)
}

// literalText is a text whose expressions are literals.
func (t *task) literalText(text string) (string, bool) {
	parts, err := t.w.Parts(text)
	if err != nil {
		return "", false
	}
	out := ""
	for _, p := range parts {
		if p.Term == nil {
			out += p.Text
			continue
		}
		s, ok := literalOf(p.Term.Text)
		if !ok {
			return "", false
		}
		out += s
	}
	return out, true
}

// common refuses keywords that a manifest that is applied cannot have.
func (t *task) common() {
	if t.keywords["register"] != nil {
		t.problem("register of tasks that are included")
		delete(t.keywords, "register")
	}
}

// findTasks finds a file of tasks by what an include calls it.
func (c *converter) findTasks(name string) string {
	for _, base := range []string{filepath.Dir(c.taskFile), filepath.Join(c.role.dir, "tasks"), c.role.dir} {
		if path := yamlFile(filepath.Join(base, name)); path != "" {
			return filepath.Clean(path)
		}
	}
	return ""
}

// below is a path of what is written, seen from the manifests of the role that is read.
func (c *converter) below(to string) string {
	from := c.role.out
	if from == "" {
		return to
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}

// apply writes an entry that applies a manifest, with variables of its own.
func (t *task) apply(m *manifestFile) *layout.Entry {
	if m.read && !hasResources(m.entries) {
		t.nothing(path.Base(m.path) + " has no resources")
		return t.entries[len(t.entries)-1]
	}
	name := m.path
	if path.Base(name) == "manifest.yaml" {
		name = path.Dir(name)
	}
	e := &layout.Entry{Type: "apply", Name: t.c.below(name)}
	t.appliedData(e)
	t.main = e
	t.entries = append(t.entries, t.looped(e))
	return e
}

// appliedData has the variables of an include, and the element of its loop, be data of what it applies.
func (t *task) appliedData(e *layout.Entry) {
	var pairs []string
	if n := t.keywords["vars"]; n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			x, err := expression.ExprOf(n.Content[i+1])
			if err != nil {
				t.fail(err)
				return
			}
			v, err := t.w.Write(x)
			t.fail(err)
			pairs = append(pairs, n.Content[i].Value+": "+v.Text)
			t.c.role.data[n.Content[i].Value] = nil
		}
	}
	if t.isLoop() {
		b, _ := t.scope.Find(t.loopVar())
		if b.Twin || b.Result != nil {
			t.problem("a loop of includes over these")
			return
		}
		v, err := t.w.Write(&j2.Expr{Op: j2.Name, Text: t.loopVar()})
		t.fail(err)
		pairs = append(pairs, t.loopVar()+": "+v.Text)
	}
	if pairs == nil {
		return
	}
	all := strings.Join(pairs, " ")
	if t.isLoop() {
		if r, ok := t.over(); ok {
			all += string(yamlnode.Encode(r.each))
		}
	}
	if strings.Contains(all, "Facts.") || strings.Contains(all, "Results.") {
		t.problem("an include with variables that a host has sent")
		return
	}
	e.SetText("data", "{{ fromPairs(concat(toPairs(Data), toPairs({"+strings.Join(pairs, ", ")+"}))) }}")
}

var expressionInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?\}\}`) })

// chosen applies one of the files that a name with an expression may mean: which one is decided by
// control.
func (t *task) chosen(name string) {
	if t.isLoop() || len(expressionInText().FindAllString(name, -1)) != 1 {
		t.problem("an include whose name is an expression: %s", expression.Shortened(name))
		return
	}
	at := expressionInText().FindStringIndex(name)
	before, after := name[:at[0]], name[at[1]:]
	x := expression.SoleExpr(yamlnode.Text(name[at[0]:at[1]]))
	if x == nil {
		t.problem("an include whose name is an expression: %s", expression.Shortened(name))
		return
	}
	if !strings.Contains(after, ".") {
		after += ".yml"
	}
	found := false
	for _, base := range []string{filepath.Dir(t.c.taskFile), filepath.Join(t.c.role.dir, "tasks")} {
		files, _ := filepath.Glob(filepath.Join(base, before+"*"+after))
		for _, file := range files {
			word := strings.TrimSuffix(strings.TrimPrefix(file, base+"/"+before), after)
			if file == t.c.taskFile || word == "main" {
				continue
			}
			condition, err := t.w.Write(&j2.Expr{Op: j2.Binary, Text: "==", Args: []*j2.Expr{x, {Op: j2.Literal, Lit: word}}})
			if err != nil {
				continue // a file that this expression does not name
			}
			found = true
			e := t.apply(t.c.tasksFile(file))
			e.Set("control", controlNode([]*yaml.Node{yamlnode.Text(condition.Text)}))
		}
		if found {
			return
		}
	}
	t.problem("an include whose name is an expression: %s", expression.Shortened(name))
}

// roleTask applies the manifest of a role.
func roleTask(t *task) {
	t.checkArgs()
	t.common()
	n := t.arg("name", "role")
	if n == nil {
		t.problem("%s without a name", t.module)
		return
	}
	name, ok := t.literalText(n.Value)
	if !ok {
		t.problem("a role whose name is an expression: %s", expression.Shortened(n.Value))
		return
	}
	found := t.c.findRole(name, filepath.Dir(t.c.taskFile))
	if found == "" {
		t.problem("the role %s, which is not there", name)
		return
	}
	other := t.c.readRole(found)
	file := "main"
	if from := t.arg("tasks_from"); from != nil {
		literal, ok := t.literalText(from.Value)
		if !ok {
			t.problem("tasks_from that is an expression: %s", expression.Shortened(from.Value))
			return
		}
		file = strings.TrimSuffix(strings.TrimSuffix(literal, ".yml"), ".yaml")
	}
	m := other.made[file]
	if m == nil {
		t.problem("the tasks %s of the role %s, which are not there", file, name)
		return
	}
	for _, one := range t.c.needed(other) {
		t.c.role.uses(one)
	}
	t.apply(m)
}

// uses notes that the data of another role is needed where this one is applied.
func (r *role) uses(other *role) {
	if other == r {
		return
	}
	for _, dir := range r.usedRoles {
		if dir == other {
			return
		}
	}
	r.usedRoles = append(r.usedRoles, other)
}

// includeVarsTask has a file of variables be data of the role.
func includeVarsTask(t *task) {
	t.checkArgs()
	name := t.free
	if n := t.arg("file"); n != nil {
		name = n.Value
	}
	if j2.HasTags(name) || name == "" || t.isLoop() || t.keywords["when"] != nil {
		t.problem("include_vars of what only a host decides: write hierarchy and overrides at the play")
		return
	}
	for _, base := range []string{filepath.Join(t.c.role.dir, "vars"), t.c.role.dir, filepath.Dir(t.c.taskFile)} {
		if path := yamlFile(filepath.Join(base, name)); path != "" {
			to := strings.TrimPrefix(t.c.role.out+"/vars-"+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".yaml", "/")
			if _, there := t.c.out.Files[to]; !there {
				t.c.dataFile(t.c.role, path, to)
			}
			t.nothing("stands in " + filepath.Base(to))
			return
		}
	}
	t.problem("the file %s, which is not there", name)
}

func metaTask(t *task) {
	switch t.free {
	case "flush_handlers":
		if t.keywords["when"] != nil {
			t.problem("flush_handlers with a condition")
			return
		}
		t.entries = append(t.entries, t.c.flush(t.c.role, nil)...)
		t.nothing("what has subscribed is refreshed above")
	case "clear_facts", "refresh_inventory", "reset_connection", "noop", "clear_host_errors":
		t.nothing("meta " + t.free + " needs no counterpart")
	default:
		t.problem("meta: %s", t.free)
	}
	t.plain = true
}

// blockOf converts a block.
func (c *converter) blockOf(n *yaml.Node, s *expression.Scope, around inherited) []*layout.Entry {
	t := &task{c: c, node: n, scope: s.Child(), keywords: map[string]*yaml.Node{}, args: map[string]*yaml.Node{}, around: around, module: "block"}
	t.w = &expression.Writer{Scope: t.scope}
	e := &layout.Entry{Block: []*layout.Entry{}}
	inner := around
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		switch key {
		case "name":
			t.name = value.Value
		case "block", "rescue", "always":
		case "vars":
			t.fail(bindVars(t.scope, value))
		case "environment":
			inner.environment = value
		case "become":
			if b, ok := yamlnode.BoolOf(value); ok && b {
				c.role.became = true
			} else if ok {
				t.problem("become: false at a block: a play has one user")
			}
		case "become_user":
			if value.Value != "root" {
				inner.becomeUser = value.Value
			}
		case "ignore_errors":
			b, _ := yamlnode.BoolOf(value)
			inner.ignore = b
		case "delegate_to":
			inner.delegated = isLocalhost(value.Value)
			t.keywords[key] = value
		case "when", "tags", "run_once", "no_log", "check_mode":
			t.keywords[key] = value
		case "any_errors_fatal", "collections", "delegate_facts", "module_defaults":
			if key != "collections" {
				t.problem("%s at a block", key)
			}
		case "notify":
			t.problem("notify at a block")
		default:
			t.problem("%s at a block", key)
		}
	}
	t.entries, t.main = []*layout.Entry{e}, e
	t.applyKeywords()
	if len(t.problems) > 0 {
		// The tasks are carried over by themselves; what is around them is not.
		why := strings.Join(t.problems, "; ")
		c.out.Report.left(c.shown(c.taskFile), n.Line, "block", why)
		list := []*layout.Entry{layout.Todo(position(c.shown(c.taskFile), n.Line), "the block around what follows: "+why, nil)}
		for _, part := range []string{"block", "rescue", "always"} {
			list = append(list, c.tasks(yamlnode.Get(n, part), t.scope, inner)...)
		}
		return list
	}
	c.out.Report.countBlock()
	e.Block = append(e.Block, c.tasks(yamlnode.Get(n, "block"), t.scope, inner)...)
	e.Rescue = c.tasks(yamlnode.Get(n, "rescue"), t.scope, inner)
	e.Always = c.tasks(yamlnode.Get(n, "always"), t.scope, inner)
	if e.Get("on") != nil || e.Get("once") != nil {
		applies := false
		layout.Walk([]*layout.Entry{e}, func(one *layout.Entry) { applies = applies || one.Type == "apply" })
		if applies {
			why := "delegate_to or run_once at a block with tasks that are included"
			c.out.Report.left(c.shown(c.taskFile), n.Line, "block", why)
			e.Drop("on")
			e.Drop("once")
			e.Block = append([]*layout.Entry{layout.Todo(position(c.shown(c.taskFile), n.Line), why, nil)}, e.Block...)
		}
	}
	if t.name != "" {
		if !j2.HasTags(t.name) {
			e.Name = t.name
		} else {
			e.Comments = append(e.Comments, t.name)
		}
	}
	if !hasResources(e.Block) {
		if !hasResources(e.Rescue) && !hasResources(e.Always) {
			return append([]*layout.Entry{{Comments: append(e.Comments, fmt.Sprintf("the block %s has no resources", t.name))}}, e.Block...)
		}
		e.Block = append(e.Block, &layout.Entry{Type: "exec", Name: "nothing to do", Props: []layout.Property{{Key: "command", Value: yamlnode.Text("true")}, {Key: "readonly", Value: yamlnode.Bool(true)}}})
	}
	return []*layout.Entry{e}
}

// hasResources reports whether entries are more than comments.
func hasResources(list []*layout.Entry) bool {
	for _, e := range list {
		if e.Type != "" || e.IsBlock() || e.Todo != "" {
			return true
		}
	}
	return false
}

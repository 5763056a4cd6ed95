package fromansible

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// setFactTask says where the variables that it sets are.
func setFactTask(t *task, r row) {
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
			probe := &writer{scope: t.scope}
			if _, err := probe.write(t.c.role.values[name]); err != nil {
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
	t.entries = append(t.entries, &entry{comments: []string{where + strings.Join(t.order, ", ")}})
}

// includeTask applies the manifest of a file of tasks.
func includeTask(t *task, r row) {
	t.checkArgs(r)
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
	parts, err := t.w.parts(text)
	if err != nil {
		return "", false
	}
	out := ""
	for _, p := range parts {
		if p.term == nil {
			out += p.text
			continue
		}
		s, ok := literalOf(p.term.text)
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
func (t *task) apply(m *manifestFile) *entry {
	if m.read && !hasResources(m.entries) {
		t.nothing(path.Base(m.path) + " has no resources")
		return t.entries[len(t.entries)-1]
	}
	name := m.path
	if path.Base(name) == "manifest.yaml" {
		name = path.Dir(name)
	}
	e := &entry{typ: "apply", name: t.c.below(name)}
	t.appliedData(e)
	t.main = e
	t.entries = append(t.entries, t.looped(e))
	return e
}

// appliedData has the variables of an include, and the element of its loop, be data of what it applies.
func (t *task) appliedData(e *entry) {
	var pairs []string
	if n := t.keywords["vars"]; n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			x, err := exprOf(n.Content[i+1])
			if err != nil {
				t.fail(err)
				return
			}
			v, err := t.w.write(x)
			t.fail(err)
			pairs = append(pairs, n.Content[i].Value+": "+v.text)
			t.c.role.data[n.Content[i].Value] = nil
		}
	}
	if t.isLoop() {
		b, _ := t.scope.find(t.loopVar())
		if b.twin || b.result != nil {
			t.problem("a loop of includes over these")
			return
		}
		v, err := t.w.write(&j2.Expr{Op: j2.Name, Text: t.loopVar()})
		t.fail(err)
		pairs = append(pairs, t.loopVar()+": "+v.text)
	}
	if pairs == nil {
		return
	}
	all := strings.Join(pairs, " ")
	if t.isLoop() {
		if r, ok := t.over(); ok {
			all += string(encode(r.each))
		}
	}
	if strings.Contains(all, "Facts.") || strings.Contains(all, "Results.") {
		t.problem("an include with variables that a host has sent")
		return
	}
	e.setText("data", "{{ fromPairs(concat(toPairs(Data), toPairs({"+strings.Join(pairs, ", ")+"}))) }}")
}

var expressionInText = regexp.MustCompile(`\{\{.*?\}\}`)

// chosen applies one of the files that a name with an expression may mean: which one is decided by
// control.
func (t *task) chosen(name string) {
	if t.isLoop() || len(expressionInText.FindAllString(name, -1)) != 1 {
		t.problem("an include whose name is an expression: %s", shortened(name))
		return
	}
	at := expressionInText.FindStringIndex(name)
	before, after := name[:at[0]], name[at[1]:]
	x := soleExpr(textNode(name[at[0]:at[1]]))
	if x == nil {
		t.problem("an include whose name is an expression: %s", shortened(name))
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
			condition, err := t.w.write(&j2.Expr{Op: j2.Binary, Text: "==", Args: []*j2.Expr{x, {Op: j2.Literal, Lit: word}}})
			if err != nil {
				continue // a file that this expression does not name
			}
			found = true
			e := t.apply(t.c.tasksFile(file))
			e.set("control", controlNode([]*yaml.Node{textNode(condition.text)}))
		}
		if found {
			return
		}
	}
	t.problem("an include whose name is an expression: %s", shortened(name))
}

// roleTask applies the manifest of a role.
func roleTask(t *task, r row) {
	t.checkArgs(r)
	t.common()
	n := t.arg("name", "role")
	if n == nil {
		t.problem("%s without a name", t.module)
		return
	}
	name, ok := t.literalText(n.Value)
	if !ok {
		t.problem("a role whose name is an expression: %s", shortened(n.Value))
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
			t.problem("tasks_from that is an expression: %s", shortened(from.Value))
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
func includeVarsTask(t *task, r row) {
	t.checkArgs(r)
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

func metaTask(t *task, r row) {
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
func (c *converter) blockOf(n *yaml.Node, s *scope, around inherited) []*entry {
	t := &task{c: c, node: n, scope: s.child(), keywords: map[string]*yaml.Node{}, args: map[string]*yaml.Node{}, around: around, module: "block"}
	t.w = &writer{scope: t.scope}
	e := &entry{block: []*entry{}}
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
			if b, ok := boolOf(value); ok && b {
				c.role.became = true
			} else if ok {
				t.problem("become: false at a block: a play has one user")
			}
		case "become_user":
			if value.Value != "root" {
				inner.becomeUser = value.Value
			}
		case "ignore_errors":
			b, _ := boolOf(value)
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
	t.entries, t.main = []*entry{e}, e
	t.applyKeywords()
	if len(t.problems) > 0 {
		// The tasks are carried over by themselves; what is around them is not.
		why := strings.Join(t.problems, "; ")
		c.out.Report.left(c.shown(c.taskFile), n.Line, "block", why)
		list := []*entry{todoEntry(c.shown(c.taskFile), n.Line, "the block around what follows: "+why, nil)}
		for _, part := range []string{"block", "rescue", "always"} {
			list = append(list, c.tasks(get(n, part), t.scope, inner)...)
		}
		return list
	}
	c.out.Report.countBlock()
	e.block = append(e.block, c.tasks(get(n, "block"), t.scope, inner)...)
	e.rescue = c.tasks(get(n, "rescue"), t.scope, inner)
	e.always = c.tasks(get(n, "always"), t.scope, inner)
	if e.get("on") != nil || e.get("once") != nil {
		applies := false
		walk([]*entry{e}, func(one *entry) { applies = applies || one.typ == "apply" })
		if applies {
			why := "delegate_to or run_once at a block with tasks that are included"
			c.out.Report.left(c.shown(c.taskFile), n.Line, "block", why)
			e.drop("on")
			e.drop("once")
			e.block = append([]*entry{todoEntry(c.shown(c.taskFile), n.Line, why, nil)}, e.block...)
		}
	}
	if t.name != "" {
		if !j2.HasTags(t.name) {
			e.name = t.name
		} else {
			e.comments = append(e.comments, t.name)
		}
	}
	if !hasResources(e.block) {
		if !hasResources(e.rescue) && !hasResources(e.always) {
			return append([]*entry{{comments: append(e.comments, fmt.Sprintf("the block %s has no resources", t.name))}}, e.block...)
		}
		e.block = append(e.block, &entry{typ: "exec", name: "nothing to do", props: []property{{"command", textNode("true")}, {"readonly", boolNode(true)}}})
	}
	return []*entry{e}
}

// hasResources reports whether entries are more than comments.
func hasResources(list []*entry) bool {
	for _, e := range list {
		if e.typ != "" || e.isBlock() || e.todo != "" {
			return true
		}
	}
	return false
}

package task

import (
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// variables makes the vars of a task data of its entries. The variable of a loop becomes data too, if the task includes
// other tasks or if other data is built on the variable.
func variables(t *Task) {
	if n := t.Keywords["vars"]; n != nil && t.Module != "include_vars" { // which reads its vars before the run
		t.vars = Vars(n, t.Node, t)
	}
	name := t.LoopVar()
	if t.LoopKey() == "" || t.Plain && !includes(t.Module) || !includes(t.Module) && !role.BuiltOn(name, t.File) {
		return
	}
	if b := t.Scope.Names[name]; b.Twin || b.Result != nil {
		if includes(t.Module) {
			t.Problem("a loop of includes over these")
		}
		return
	}
	v, err := t.W.Write(&j2.Expr{Op: j2.Name, Text: name})
	t.Fail(err)
	t.File.To.Override(name, v.Kind)
	AddVar(name, v.Text, t)
}

// AddVar adds a variable to the entries of a task, with its expression.
func AddVar(name, text string, t *Task) {
	if t.vars == nil {
		t.vars = yamlnode.Map()
	}
	if yamlnode.Get(t.vars, name) != nil {
		return
	}
	value := yamlnode.Text("{{ " + text + " }}")
	if literal, ok := expression.LiteralOf(text); ok {
		value = yamlnode.Text(expression.Escape(literal))
	}
	t.vars.Content = append(t.vars.Content, yamlnode.Text(name), value)
}

// includes reports whether tasks of a module carry out other tasks.
func includes(module string) bool {
	switch module {
	case "include", "include_role", "include_tasks", "import_role", "import_tasks":
		return true
	}
	return false
}

// Vars returns vars of a task or a block as data, and makes their names mean this data. The values are known before the
// task or block starts. If a value reads a result that the task or block registers, its expression replaces the name.
func Vars(n, within *yaml.Node, t *Task) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		t.Problem("vars that are no map")
		return nil
	}
	results := map[string]bool{}
	registeredIn(within, results)
	late := func(e *j2.Expr) (found bool) {
		e.Walk(func(x *j2.Expr) bool {
			b, bound := t.Scope.Names[x.Text]
			found = found || x.Op == j2.Name && (results[x.Text] || bound && b.Expr != nil)
			return true
		})
		return found
	}
	out := yamlnode.Map()
	for pass := range 2 { // the values may read one another
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i].Value, n.Content[i+1]
			e, err := expression.ExprOf(value)
			if err != nil {
				t.Fail(err)
				continue
			}
			self := false
			e.Walk(func(x *j2.Expr) bool { self = self || x.Op == j2.Name && x.Text == name; return true })
			switch {
			case t.File.Sets(name):
				t.Problem("the variable %s, which tasks set, too", name)
			case self:
				t.Problem("the variable %s, which is made of itself", name)
			case late(e):
				t.Scope.Names[name] = expression.Binding{Expr: e}
			case pass == 0:
				t.Scope.Names[name] = expression.Binding{Text: "Data." + name}
			default:
				v, kind, err := expression.Typed(value, t.W)
				t.Fail(err)
				b := expression.Binding{Text: "Data." + name, Kind: kind}
				if e.Op == j2.Literal {
					b.Literal = e
				}
				t.Scope.Names[name] = b
				t.File.To.Override(name, kind)
				role.NoteSent(name, v, t.File)
				out.Content = append(out.Content, yamlnode.Text(name), v)
			}
		}
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

// registeredIn adds the names that tasks in a node register.
func registeredIn(n *yaml.Node, names map[string]bool) {
	if name := yamlnode.Get(n, "register"); name != nil {
		names[name.Value] = true
	}
	for _, child := range n.Content {
		registeredIn(child, names)
	}
}

// inlined returns a scope outside of a task in which its vars stand for their expressions, since a list for each is
// evaluated before the vars of its elements.
func inlined(n *yaml.Node, outer *expression.Scope) *expression.Scope {
	s := outer.Child()
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if e, err := expression.ExprOf(n.Content[i+1]); err == nil {
			s.Names[n.Content[i].Value] = expression.Binding{Expr: e}
		}
	}
	return s
}

// putVars writes the vars of a task at its entries.
func putVars(list []*layout.Entry, vars *yaml.Node) {
	for _, e := range list {
		if e.IsBlock() && len(e.Block) > 0 { // of a loop in a loop
			e = e.Block[0]
		}
		if vars != nil && (e.Type != "" || e.IsBlock()) {
			e.Set("vars", vars)
		}
	}
}

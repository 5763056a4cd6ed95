package fromansible

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/module"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A reader goes through the tasks of a file.
type reader struct {
	u *unit
	f role.File
}

// tasks converts a list of tasks.
func (r reader) tasks(n *yaml.Node, s *expression.Scope, around task.Around) []*layout.Entry {
	var list []*layout.Entry
	for _, item := range yamlnode.Items(n) {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		switch {
		case item.Kind == yaml.MappingNode && r.folds(item, s):
		case item.Kind != yaml.MappingNode:
			list = append(list, layout.Todo(r.f.Position(item.Line), "what is no task", item))
		case yamlnode.Get(item, "block") != nil:
			list = append(list, r.block(item, s, around)...)
		default:
			list = append(list, r.task(item, s, around, false)...)
		}
	}
	return list
}

// folds reports whether a task or a block is only for Windows, AIX, Solaris or HP-UX. It is not written, and the report
// has the number of its tasks.
func (r reader) folds(n *yaml.Node, s *expression.Scope) bool {
	when := yamlnode.Get(n, "when")
	if when == nil || !expression.Folds(s, when) {
		return false
	}
	r.fold(n)
	return true
}

func (r reader) fold(n *yaml.Node) {
	if name := yamlnode.Get(n, "register"); name != nil {
		r.f.Register(name.Value, &expression.Result{Folded: true, File: r.f.Path})
	}
	block := false
	for _, part := range []string{"block", "rescue", "always"} {
		for _, inner := range yamlnode.Items(yamlnode.Get(n, part)) {
			r.fold(inner)
		}
		block = block || yamlnode.Get(n, part) != nil
	}
	if !block && !r.u.c.out.Report.Again {
		r.u.c.out.Report.Folded++
	}
}

// task converts one task; what cannot be carried over is an entry that says so.
func (r reader) task(n *yaml.Node, s *expression.Scope, around task.Around, handler bool) []*layout.Entry {
	t := r.u.c.tasks.New(r.f, n, s, around)
	t.IsHandler = handler
	t.Handled = func(name string) bool { return len(r.u.handlersOf(name)) > 0 }
	rounds := t.Rounds()
	if rounds == nil {
		t.Convert(r.carrier(t.Module))
		return r.finish(t)
	}
	var list []*layout.Entry
	for i, one := range rounds {
		one.Convert(r.carrier(t.Module))
		if len(one.Problems) > 0 {
			return r.finish(one)
		}
		if i > 0 {
			one.Name = ""
			r.u.c.out.Report.Again = true
		}
		list = append(list, r.finish(one)...)
		r.u.c.out.Report.Again = false
	}
	return list
}

// finish gives the entries of a task, and notes which handlers it notifies.
func (r reader) finish(t *task.Task) []*layout.Entry {
	entries := t.Finish()
	if len(t.Problems) == 0 {
		r.notifies(t)
	}
	return entries
}

// carrier is what carries the tasks of a module over; nil if nothing does.
func (r reader) carrier(name string) func(*task.Task) {
	switch name {
	case "import_role", "include_role":
		return r.applyRole
	case "import_tasks", "include", "include_tasks":
		return r.applyTasks
	case "include_vars":
		return r.includeVars
	case "meta":
		return r.meta
	case "set_fact":
		return r.setFact
	}
	return module.Carriers[name]
}

// block converts a block.
func (r reader) block(n *yaml.Node, s *expression.Scope, around task.Around) []*layout.Entry {
	t := r.u.c.tasks.NewBlock(r.f, n, s, around)
	e := &layout.Entry{Block: []*layout.Entry{}}
	inner := around
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		switch key {
		case "name":
			t.Name = value.Value
		case "block", "rescue", "always":
		case "vars":
			blockVars(t, e, value, &inner)
		case "environment":
			inner.Environment = value
		case "become":
			if b, ok := yamlnode.BoolOf(value); ok && b {
				r.u.Became, inner.Become = true, true
			} else if ok {
				t.Problem("become: false at a block: a play has one user")
			}
		case "become_user":
			if value.Value != "root" {
				inner.BecomeUser = value.Value
			}
		case "ignore_errors":
			b, _ := yamlnode.BoolOf(value)
			inner.Ignore = b
		case "delegate_to":
			inner.Delegated = task.IsLocalhost(value.Value)
			t.Keywords[key] = value
		case "when", "tags", "run_once", "no_log", "check_mode":
			t.Keywords[key] = value
			inner.Conditional = inner.Conditional || key != "tags"
		case "any_errors_fatal", "collections", "delegate_facts", "module_defaults":
			if key != "collections" {
				t.Problem("%s at a block", key)
			}
		case "notify":
			t.Problem("notify at a block")
		default:
			t.Problem("%s at a block", key)
		}
	}
	t.Entries, t.Main = []*layout.Entry{e}, e
	t.ApplyKeywords()
	if len(t.Problems) > 0 {
		// The tasks are carried over by themselves; what is around them is not.
		why := strings.Join(t.Problems, "; ")
		r.f.Leave(n.Line, "block", why)
		list := []*layout.Entry{layout.Todo(r.f.Position(n.Line), "the block around what follows: "+why, nil)}
		for _, part := range []string{"block", "rescue", "always"} {
			list = append(list, r.tasks(yamlnode.Get(n, part), t.Scope, inner)...)
		}
		return list
	}
	r.u.c.out.Report.CountBlock()
	e.Block = append(e.Block, r.tasks(yamlnode.Get(n, "block"), t.Scope, inner)...)
	inner.Conditional = true
	e.Rescue = r.tasks(yamlnode.Get(n, "rescue"), t.Scope, inner)
	e.Always = r.tasks(yamlnode.Get(n, "always"), t.Scope, inner)
	if e.Get("on") != nil || e.Get("once") != nil {
		applies := false
		layout.Walk([]*layout.Entry{e}, func(one *layout.Entry) { applies = applies || one.Type == "apply" || one.Type == "set" })
		if applies {
			why := "delegate_to or run_once at a block with set_fact or tasks that are included"
			r.f.Leave(n.Line, "block", why)
			e.Drop("on")
			e.Drop("once")
			e.Block = append([]*layout.Entry{layout.Todo(r.f.Position(n.Line), why, nil)}, e.Block...)
		}
	}
	if t.Name != "" {
		if !j2.HasTags(t.Name) {
			e.Name = t.Name
		} else {
			e.Comments = append(e.Comments, t.Name)
		}
	}
	if !complete(e) {
		return append([]*layout.Entry{{Comments: append(e.Comments, fmt.Sprintf("the block %s has no resources", t.Name))}}, e.Block...)
	}
	return []*layout.Entry{e}
}

// blockVars writes the vars of a block.
func blockVars(t *task.Task, e *layout.Entry, n *yaml.Node, inner *task.Around) {
	if vars := task.Vars(n, t.Node, t); vars != nil {
		e.Set("vars", vars)
		inner.Conditional = true // what its tasks look at is not known before the run
	}
}

// complete adds a command that does nothing to the parts of a block that have only comments. It returns false if the block
// has no resources.
func complete(e *layout.Entry) bool {
	nothing := &layout.Entry{Type: "exec", Name: "nothing to do", Props: []layout.Property{{Key: "command", Value: yamlnode.Text("true")}, {Key: "readonly", Value: yamlnode.Bool(true)}}}
	if !hasResources(e.Always) {
		e.Block, e.Always = append(e.Block, e.Always...), nil
	}
	switch {
	case !hasResources(e.Block) && !hasResources(e.Rescue) && !hasResources(e.Always):
		return false
	case !hasResources(e.Block):
		e.Block = append(e.Block, nothing)
	case len(e.Rescue) > 0 && !hasResources(e.Rescue): // a failure is rescued
		e.Rescue = append(e.Rescue, nothing)
	}
	return true
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

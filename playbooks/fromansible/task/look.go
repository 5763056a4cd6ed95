package task

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Looks says that the task only looks at the host. Where nothing before it may change what it looks at, it is a fact
// that plays ask for before the run: then it is carried over, its result is that fact, and Looks gives true. Else the
// module goes on with what it has otherwise.
func (t *Task) Looks(q facts.Query) bool {
	t.look = &layout.Look{Where: t.File.Position(t.Node.Line), Query: q, InPlace: !t.mayLook() || role.Overridden(strings.Join([]string{q.Stat, q.Package, q.Service, q.Getent, q.Command}, " "), t.File)}
	if t.look.InPlace || !t.of.Certain[t.look.Where] {
		return false
	}
	t.Plain = true
	register := t.Keywords["register"]
	if register == nil { // what a module gathers is asked for where it is mentioned
		t.Nothing("what is asked of this is a fact that the play asks for")
		return true
	}
	name := t.of.unique(register.Value)
	for _, there := t.File.Asks[name]; there || slices.Contains(facts.Names(), name); _, there = t.File.Asks[name] {
		name = t.of.unique(name + "_")
	}
	t.File.Asks[name] = q
	t.Result.Base, t.Result.Fact = "Facts."+name, true
	t.File.Register(register.Value, t.Result)
	t.Nothing("is a fact that the play asks for: Facts." + name)
	return true
}

// mayLook reports whether nothing beside the module of a task keeps it from being a fact: it is carried out whenever
// its file is, once, for the host of the play, and no other file asks for its result.
func (t *Task) mayLook() bool {
	around := t.Around
	around.Ignore = false
	if t.Keywords["register"] == nil { // what is gathered is there in any case: who asks for it where it is not fails
		around.Conditional = false
	}
	if t.IsHandler || around != (Around{}) || len(t.Problems) > 0 {
		return false
	}
	for key, n := range t.Keywords {
		b, literal := yamlnode.BoolOf(n)
		switch key {
		case "register":
			if t.Result == nil || !t.File.OnlyHere(n.Value) {
				return false
			}
		case "changed_when", "failed_when", "check_mode":
			if !literal || b {
				return false
			}
		case "become", "ignore_errors":
			if !literal || !b {
				return false
			}
		case "tags":
		default:
			return false
		}
	}
	return true
}

package expression

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// ofHosts has hostvars[inventory_hostname].x be x, where that is a fact or what a task registers or sets: the inventory,
// which Hosts has, knows nothing of these. Those of other hosts are an error.
func (w *Writer) ofHosts(e *j2.Expr) (*j2.Expr, error) {
	if e.Op != j2.Attr && e.Op != j2.Index {
		return e, nil
	}
	of := e.Args[0]
	if of.Op != j2.Index || of.Args[0].Op != j2.Name || of.Args[0].Text != "hostvars" {
		below, err := w.ofHosts(of)
		if err != nil || below == of {
			return e, err
		}
		out := *e
		out.Args = append([]*j2.Expr{below}, e.Args[1:]...)
		return &out, nil
	}
	name := fieldOf(e)
	if name == "" {
		name = beginning(e.Args[1])
	}
	isFact, ofTasks := w.untold(name)
	if !isFact && !ofTasks {
		return e, nil
	}
	_, bound := w.Scope.Find(name)
	if host := of.Args[1]; host.Op == j2.Name && host.Text == "inventory_hostname" && fieldOf(e) != "" && !bound {
		return &j2.Expr{Op: j2.Name, Text: name}, nil
	}
	if ofTasks {
		return nil, Unknown("%s of hostvars: what tasks register or set is known on their own host", name)
	}
	return nil, Unknown("%s of hostvars, which no inventory has: write hostfacts at the play, and Hosts[…].facts", name)
}

// beginning is what a name that is put together begins with; "" if that is not literal.
func beginning(e *j2.Expr) string {
	for e.Op == j2.Binary && (e.Text == "+" || e.Text == "~") {
		e = e.Args[0]
	}
	text, _ := e.Lit.(string)
	return text
}

// untold reports whether a variable of a host is none of its inventory: a fact, or what tasks register or set.
func (w *Writer) untold(name string) (isFact, ofTasks bool) {
	switch set := w.Scope.Files.Sets(name); {
	case set:
		return false, true
	case w.Scope.Files.Defines(name):
		return false, false
	}
	_, magic := magicNames[name]
	_, result := w.Scope.Files.ResultOf(name)
	return strings.HasPrefix(name, "ansible_") && !magic && !notFact(name), result
}

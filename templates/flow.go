package templates

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// A Taint says in what a host has had a say beside its facts.
type Taint struct {
	Data map[string]bool // keys of the data that are made of facts
	Item bool            // whether Item is
	// AllData says that any key of the data may be.
	AllData bool
}

// A flow is where a value comes from, as far as a host may have a say in it.
// Conditions and comparisons let nothing through.
type flow struct {
	facts, item bool
	data        []string // keys of the data
	allData     bool     // any of them
	variables   []string
}

func (f *flow) add(more flow) {
	f.facts, f.item, f.allData = f.facts || more.facts, f.item || more.item, f.allData || more.allData
	f.data = append(f.data, more.data...)
	f.variables = append(f.variables, more.variables...)
}

// path is the flow of what stands at a path below a root.
func (f *flow) path(root string, keys []string) {
	switch {
	case root == factsRoot:
		f.facts = true
	case root == itemRoot:
		f.item = true
	case root == dataRoot && len(keys) == 0:
		f.allData = true
	case root == dataRoot:
		f.data = append(f.data, keys[0])
	}
}

// anything is the flow of what cannot be known.
func (f *flow) anything() { f.facts, f.item, f.allData = true, true, true }

// lookup is the flow of a gjson path, as far as it is plain keys.
func (f *flow) lookup(path string) {
	if root, keys, known := lookupPath(path); known {
		f.path(root, keys)
	} else {
		f.anything()
	}
}

// mentioned is the flow of a value that may come from all that was mentioned.
func (f *flow) mentioned(m *mentions) {
	if len(m.calls) > 0 { // what a template renders can be anything
		f.anything()
	}
	f.facts = f.facts || m.readsFacts()
	f.item = f.item || m.roots[itemRoot]
	f.allData = f.allData || m.roots[dataRoot]
}

// hostile reports whether the host has had a say in the value.
func (f flow) hostile(taint Taint) bool {
	return f.facts || f.item && taint.Item || f.allData && len(taint.Data) > 0 ||
		taint.AllData && (f.allData || len(f.data) > 0) ||
		slices.ContainsFunc(f.data, func(key string) bool { return taint.Data[key] })
}

// A readPath is the path of a file(), which a host must not have a say in.
type readPath struct {
	at   Position
	flow flow
}

// checkPaths reports the paths, also those in called templates, in which a host
// has a say.
func (m *mentions) checkPaths(files *Files, taint Taint) error {
	var errs []error
	check := func(m *mentions) {
		for _, p := range m.paths {
			if p.flow.hostile(taint) {
				errs = append(errs, at(p.at, hostilePath("file")))
			}
		}
	}
	check(m)
	m.eachCalled(files, func(_ *renderCall, called *mentions, err error) {
		if err == nil {
			check(called)
		}
	})
	return errors.Join(errs...)
}

func hostilePath(function string) *fault {
	return faultf("%s: what a host sent may not be a path", function).
		withHint(`choose among literals: Facts.x == "y" ? "a.conf" : "b.conf"`)
}

// exprFlow is the flow of an expression as it is written.
func exprFlow(n ast.Node) (f flow) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if isRoot(n.Value) {
			f.path(n.Value, nil)
		} else {
			f.variables = []string{n.Value}
		}
		return f
	case *ast.PointerNode: // the element of a loop
		return flow{variables: []string{"#"}}
	case *ast.ChainNode, *ast.MemberNode:
		if root, keys, _ := rootPath(n); root != "" {
			f.path(root, keys)
			return f
		}
		if member, ok := n.(*ast.MemberNode); ok {
			return exprFlow(member.Node)
		}
	case *ast.ConditionalNode:
		f = exprFlow(n.Exp1)
		f.add(exprFlow(n.Exp2))
		return f
	case *ast.BinaryNode:
		if isComparison(n.Operator) {
			return f
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return exprCallFlow(callee.Value, n.Arguments)
		}
	}
	for _, child := range tree(n) {
		f.add(exprFlow(*child))
	}
	return f
}

func isComparison(operator string) bool {
	return slices.Contains([]string{"==", "!=", "<", ">", "<=", ">=", "in", "not in", "matches", "contains",
		"startsWith", "endsWith", "and", "or", "&&", "||"}, operator)
}

// callFlow is the flow of what a function gives, of the flows of its arguments.
// path is the first of those if it is a literal. What a template renders can be
// anything.
func callFlow(name string, path *string, args []flow) (f flow) {
	switch name {
	case "template", "jet", "exec", "includeIfExists", "render":
		f.anything()
		return f
	case "lookup":
		if path != nil {
			f.lookup(*path)
		} else {
			f.anything()
		}
		args = args[min(1, len(args)):]
	}
	for _, arg := range args {
		f.add(arg)
	}
	return f
}

func exprCallFlow(name string, args []ast.Node) flow {
	var path *string
	flows := make([]flow, len(args))
	for i, arg := range args {
		if s, literal := arg.(*ast.StringNode); literal && i == 0 {
			path = &s.Value
		}
		flows[i] = exprFlow(arg)
	}
	return callFlow(name, path, flows)
}

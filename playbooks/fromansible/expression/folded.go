package expression

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// foreign are values of facts that only hosts have which ccm-push cannot manage, by the name of the fact.
var foreign = map[string][]string{
	"os_family":    {"Windows", "AIX", "Solaris", "HP-UX"},
	"distribution": {"Windows", "AIX", "Solaris", "SmartOS", "OmniOS", "OpenIndiana", "Nexenta", "HP-UX"},
	"system":       {"Windows", "Win32NT", "AIX", "SunOS", "HP-UX"},
}

// never and always are comparisons with foreign values. They are compared by identity: a false that the input contains
// is not folded.
var (
	never  = &j2.Expr{Op: j2.Literal, Lit: false}
	always = &j2.Expr{Op: j2.Literal, Lit: true}
)

// folded returns an expression without comparisons with foreign values.
func folded(s *Scope, e *j2.Expr) *j2.Expr {
	switch {
	case e.Op == j2.Not:
		switch x := folded(s, e.Args[0]); x {
		case never:
			return always
		case always:
			return never
		case e.Args[0]:
			return e
		default:
			return &j2.Expr{Op: j2.Not, Args: []*j2.Expr{x}}
		}
	case e.Op == j2.Binary && (e.Text == "and" || e.Text == "or"):
		decides, leaves := never, always
		if e.Text == "or" {
			decides, leaves = always, never
		}
		left, right := folded(s, e.Args[0]), folded(s, e.Args[1])
		switch {
		case left == decides || right == decides:
			return decides
		case left == leaves:
			return right
		case right == leaves:
			return left
		case left == e.Args[0] && right == e.Args[1]:
			return e
		}
		return &j2.Expr{Op: j2.Binary, Text: e.Text, Args: []*j2.Expr{left, right}}
	case e.Op == j2.Cond:
		switch folded(s, e.Args[0]) {
		case always:
			return folded(s, e.Args[1])
		case never:
			if e.Args[2] == nil {
				return &j2.Expr{Op: j2.Literal, Lit: ""}
			}
			return folded(s, e.Args[2])
		}
	case e.Op == j2.Binary && len(e.Args) == 2:
		return foldedComparison(s, e)
	}
	return e
}

// foldedComparison removes foreign values from a comparison of a fact.
func foldedComparison(s *Scope, e *j2.Expr) *j2.Expr {
	of := e.Args[0]
	lower := false
	for of.Op == j2.Filter && len(of.Args) > 0 && slices.Contains([]string{"lower", "default", "d"}, of.Text) {
		lower = lower || of.Text == "lower"
		of = of.Args[0]
	}
	path, ok := factPath(of)
	values := foreign[path]
	if !ok || values == nil || of.Op == j2.Name && isSet(s, of.Text) {
		return e
	}
	isForeign := func(x *j2.Expr) bool {
		text, isText := x.Lit.(string)
		return isText && slices.ContainsFunc(values, func(v string) bool {
			return text == v && !lower || text == strings.ToLower(v) && lower
		}) || path == "distribution" && strings.HasPrefix(text, "Microsoft Windows")
	}
	result := map[string]*j2.Expr{"==": never, "in": never, "!=": always, "not in": always}[e.Text]
	switch right := e.Args[1]; {
	case result == nil:
	case (e.Text == "==" || e.Text == "!=") && isForeign(right):
		return result
	case (e.Text == "in" || e.Text == "not in") && right.Op == j2.List:
		rest := slices.DeleteFunc(slices.Clone(right.Args), isForeign)
		switch len(rest) {
		case len(right.Args):
		case 0:
			return result
		default:
			return &j2.Expr{Op: j2.Binary, Text: e.Text, Args: []*j2.Expr{e.Args[0], {Op: j2.List, Args: rest}}}
		}
	}
	return e
}

// isSet reports whether tasks or the inventory set a variable that has the name of a fact.
func isSet(s *Scope, name string) bool {
	if _, bound := s.Find(name); bound {
		return true
	}
	return s.Files.Sets(name) || s.Files.Defines(name)
}

// Folds reports whether a condition of when holds only on Windows, AIX, Solaris or HP-UX.
func Folds(s *Scope, when *yaml.Node) bool {
	return slices.ContainsFunc(yamlnode.Items(when), func(one *yaml.Node) bool {
		e := SoleExpr(one)
		if e == nil {
			e, _ = j2.ParseExpr(one.Value)
		}
		return e != nil && folded(s, e) == never
	})
}

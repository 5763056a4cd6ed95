package module

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// statTask asks test(1) for what later tasks want to know.
func statTask(t *task.Task) {
	n := t.Arg("path", "dest", "name")
	if n == nil || t.Keywords["register"] == nil {
		t.Problem("stat without a path, or without register")
		return
	}
	asked := t.Result.Asked
	follow, _ := yamlnode.BoolOf(t.Arg("follow"))
	if path := strings.TrimRight(n.Value, "/"); strings.HasPrefix(path, "/") && !yamlnode.HasJinja(n) && !follow && expression.CanAsk(asked) && t.Looks(facts.Query{Stat: path}) {
		return
	}
	one := expression.StatTest(asked)
	if one == "" {
		why := ""
		if expression.CanAsk(asked) {
			why = ", which no fact says: something before it may change it, or it is not looked at in each run"
		}
		t.Problem("stat of which several things are asked: %s%s", strings.Join(asked, ", "), why)
		return
	}
	path := t.Place(n)
	e := &layout.Entry{Type: "exec", Name: "test " + expression.StatTests[one] + " " + shellQuoteText(path)}
	e.Set("readonly", yamlnode.Bool(true))
	returns := yamlnode.List(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	returns.Style = yaml.FlowStyle
	e.Set("returns", returns)
	t.Write(e)
}

// looksOnly has a command that says that it changes nothing, and whose exit code is not an error, be a fact.
func looksOnly(t *task.Task, text string, shell bool) bool {
	isFalse := func(key string) bool {
		b, literal := yamlnode.BoolOf(t.Keywords[key])
		return literal && !b
	}
	ignores, _ := yamlnode.BoolOf(t.Keywords["ignore_errors"])
	switch {
	case !isFalse("changed_when") || t.Keywords["register"] == nil || !isFalse("failed_when") && !ignores && !t.Around.Ignore:
		return false
	case len(t.Order) > 0 && t.Arg("cmd", "_raw_params") == nil || len(t.Order) > 1 || yamlnode.HasJinja(yamlnode.Text(text)):
		return false
	case strings.Contains(text, "${"): // which a query takes for an expression
		return false
	case !shell && strings.ContainsAny(text, "|&;<>()$`\\\"'*?[]#~=%!{}\n"): // a shell takes them for something else
		return false
	}
	before := *t.Result
	t.Result.Lax = true
	if t.Looks(facts.Query{Command: text}) {
		return true
	}
	*t.Result = before
	return false
}

// gatherTask is a module that gathers facts, of which elements are asked for where they are mentioned.
func gatherTask(of facts.Query) func(t *task.Task) {
	return func(t *task.Task) {
		q := of
		if t.Keywords["register"] != nil || t.Arg("strategy", "split", "service") != nil {
			t.Problem("%s with register, strategy, split or service", t.Module)
			return
		}
		delete(t.Keywords, "when") // facts are there in any case
		if n := t.Arg("database"); n != nil {
			q = facts.Query{Getent: n.Value + " *"}
		}
		if q.Getent != "" && q.Getent != "passwd *" && q.Getent != "group *" {
			t.Problem("getent of another database than passwd and group")
			return
		}
		if !t.Looks(q) {
			t.Problem("%s, where something before it may change what it gathers: ask in its place with an exec, readonly and register", t.Module)
		}
	}
}

// findTask lists paths with find(1).
func findTask(t *task.Task) {
	list := func(names ...string) []string {
		n := t.Arg(names...)
		if n != nil && n.Kind == yaml.ScalarNode && expression.SoleExpr(n) != nil {
			t.Problem("find with %s that are a variable", names[0])
			return nil
		}
		return yamlnode.Names(n)
	}
	words := []string{"find"}
	for _, path := range list("paths", "path", "name") {
		words = append(words, shellQuoteText(t.Place(yamlnode.Text(path))))
	}
	if len(words) == 1 {
		if len(t.Problems) == 0 {
			t.Problem("find without paths")
		}
		return
	}
	words = append(words, "-mindepth 1")
	recurse, literal := yamlnode.BoolOf(t.Arg("recurse"))
	switch depth := t.Arg("depth"); {
	case t.Arg("recurse") != nil && !literal, depth != nil && !yamlnode.Digits(depth.Value):
		t.Problem("find with recurse or depth that is an expression")
	case !recurse:
		words = append(words, "-maxdepth 1")
	case depth != nil:
		words = append(words, "-maxdepth "+depth.Value)
	}
	kind := "file"
	if n := t.Arg("file_type"); n != nil {
		kind = n.Value
	}
	switch letter := map[string]string{"file": "f", "directory": "d", "link": "l"}[kind]; {
	case letter != "":
		words = append(words, "-type "+letter)
	case kind != "any":
		t.Problem("find with the file_type %s", kind)
	}
	switch hidden, literal := yamlnode.BoolOf(t.Arg("hidden")); {
	case t.Arg("hidden") != nil && !literal:
		t.Problem("find with hidden that is an expression")
	case !hidden:
		words = append(words, "! -name '.*'")
	}
	var any []string
	for _, pattern := range list("patterns", "pattern") {
		any = append(any, "-name "+shellQuoteText(t.Text(yamlnode.Text(pattern))))
	}
	if len(any) > 0 {
		words = append(words, "'(' "+strings.Join(any, " -o ")+" ')'")
	}
	for _, pattern := range list("excludes", "exclude") {
		words = append(words, "! -name "+shellQuoteText(t.Text(yamlnode.Text(pattern))))
	}
	e := &layout.Entry{Type: "exec", Name: strings.Join(words, " ")}
	e.Set("readonly", yamlnode.Bool(true))
	returns := yamlnode.List(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}) // 1: a path is not there
	returns.Style = yaml.FlowStyle
	e.Set("returns", returns)
	t.Write(e)
}

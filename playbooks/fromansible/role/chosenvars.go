package role

import (
	"bytes"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A Fact is what include_vars makes of a variable, in files that facts choose.
type Fact struct {
	Why string // it cannot be carried over

	given    []assignment
	included []*yaml.Node // its values
	maybe    bool         // it is not always set
	settled  bool         // it is data, or cannot be carried over
}

// fact returns what tasks make of a variable.
func (r *Role) fact(name string) *Fact {
	if r.Facts[name] == nil {
		r.Facts[name] = &Fact{}
	}
	return r.Facts[name]
}

// An assignment is a value that a variable has under a condition.
type assignment struct {
	value *j2.Expr
	when  *j2.Expr // nil without one
	file  string
}

// settle makes data of the variables that include_vars sets. late contains the names that tasks register or set, which are
// not known before the run.
func (r *Role) settle(late map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
		f := r.Facts[name]
		if !f.settled && f.Why == "" {
			var value *j2.Expr
			value, f.Why = f.value(name, r.Data[name], late)
			r.variables = append(r.variables, variable{name, value})
		}
		f.settled = true
	}
}

// value returns the expression of a variable whose default is n; nil means none. The last assignment whose conditions are
// true counts.
func (f *Fact) value(name string, n *yaml.Node, late map[string]bool) (value *j2.Expr, why string) {
	if n != nil {
		var err error
		if value, err = expression.ExprOf(n); err != nil {
			return nil, err.Error()
		}
	}
	own := func(s string) bool { return s == name }
	isLate := func(s string) bool { return late[s] }
	for i, a := range f.given {
		switch {
		case a.value.Mentions(own) || a.when.Mentions(own):
			return nil, "include_vars of a variable that is made of itself"
		case a.when.Mentions(isLate):
			return nil, "include_vars under a condition that only the run knows"
		case a.when == nil && i > 0:
			return nil, "include_vars of a variable that was set before"
		case a.when == nil:
			value = a.value
		case value == nil: // it may not be there: then it is nil
			f.maybe = true
			value = &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{a.when, a.value, {Op: j2.Literal}}}
		default:
			value = &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{a.when, a.value, value}}
		}
	}
	return value, ""
}

// A variable is one that becomes data.
type variable struct {
	name  string
	value *j2.Expr
}

// SetVariables returns the variables that include_vars chooses, which become data: their names and values. A value is nil
// if it cannot be carried over.
func (r *Role) SetVariables() (names []string, values []*yaml.Node) {
	w := &expression.Writer{Scope: r.File("").Scope()}
	for _, v := range r.variables {
		var n *yaml.Node
		if why := &r.Facts[v.name].Why; *why == "" {
			var err error
			if n, err = w.DataOf(v.value); err != nil {
				n, *why = nil, err.Error()
			}
		}
		names, values = append(names, v.name), append(values, n)
	}
	return names, values
}

// A choice is a file of variables that include_vars reads on hosts for which all of its expressions have these values.
type choice struct {
	vars *yaml.Node
	is   []comparison
}

// A comparison is an expression with its value.
type comparison struct {
	text  string
	value *j2.Expr
	word  string
}

// expr returns a comparison as an expression.
func (c comparison) expr() *j2.Expr {
	return &j2.Expr{Op: j2.Binary, Text: "==", Args: []*j2.Expr{c.value, {Op: j2.Literal, Lit: c.word}}}
}

// apart reports whether no host has both of two choices.
func apart(a, b choice) bool {
	return slices.ContainsFunc(a.is, func(x comparison) bool {
		return slices.ContainsFunc(b.is, func(y comparison) bool { return x.text == y.text && x.word != y.word })
	})
}

// when returns the condition of a choice; nil if it always applies.
func (c choice) when() (all *j2.Expr) {
	for _, one := range c.is {
		all = and(all, one.expr())
	}
	return all
}

// and joins two conditions, of which nil is true.
func and(a, b *j2.Expr) *j2.Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &j2.Expr{Op: j2.Binary, Text: "and", Args: []*j2.Expr{a, b}}
}

// surveyVars notes the variables of the files that a task with include_vars chooses by facts.
func (r *Role) surveyVars(task *yaml.Node, when *j2.Expr, s survey, before string) {
	choices := r.choices(task, s.file)
	for i := len(choices) - 1; i >= 0; i-- { // the first that applies counts, and so comes last
		c := choices[i]
		for k := 0; k+1 < len(c.vars.Content); k += 2 {
			name := c.vars.Content[k].Value
			value, err := expression.ExprOf(c.vars.Content[k+1])
			f := r.fact(name)
			f.included = append(f.included, c.vars.Content[k+1])
			if err != nil {
				f.Why = err.Error()
			} else if len(f.given) == 0 && r.Data[name] != nil && expression.WordIn(before, name) {
				f.Why = "include_vars of a variable that tasks before it read"
			}
			a := assignment{value: value, file: s.file, when: and(when, c.when())}
			for _, earlier := range choices[:i] {
				if yamlnode.Get(earlier.vars, name) == nil && !apart(earlier, c) {
					a.when = and(a.when, &j2.Expr{Op: j2.Not, Args: []*j2.Expr{earlier.when()}})
				}
			}
			f.add(a)
		}
	}
}

// add appends an assignment. If the one before has the same value, their conditions are joined.
func (f *Fact) add(a assignment) {
	if last := len(f.given) - 1; last >= 0 && len(f.included) > 1 && a.when != nil && f.given[last].when != nil {
		one, other := f.included[len(f.included)-2], f.included[len(f.included)-1]
		if f.given[last].file == a.file && bytes.Equal(yamlnode.Encode(one), yamlnode.Encode(other)) {
			f.given[last].when = &j2.Expr{Op: j2.Binary, Text: "or", Args: []*j2.Expr{f.given[last].when, a.when}}
			f.included = f.included[:len(f.included)-1]
			return
		}
	}
	f.given = append(f.given, a)
}

// ChosenVars returns the names of the variables that a task with include_vars may set; none if its files are not known.
func (f File) ChosenVars(task *yaml.Node) (names []string) {
	for _, c := range f.choices(task, f.Path) {
		for k := 0; k+1 < len(c.vars.Content); k += 2 {
			if name := c.vars.Content[k].Value; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// choices returns the files of variables that a task with include_vars may read, in the order in which they are tried. It
// returns none if the task names a file literally, or if a name or a file cannot be read.
func (r *Role) choices(task *yaml.Node, file string) (all []choice) {
	n := yamlnode.Get(task, "include_vars")
	if n == nil {
		n = yamlnode.Get(task, "ansible.builtin.include_vars")
	}
	if n != nil && n.Kind == yaml.MappingNode {
		if len(n.Content) > 2 {
			return nil
		}
		n = yamlnode.Get(n, "file")
	}
	if n == nil || !yamlnode.HasJinja(n) {
		return nil
	}
	names, ok := namesOfVars(task, n)
	if !ok {
		return nil
	}
	for _, name := range names {
		some, ok := r.choicesOf(name, file)
		if !ok {
			return nil
		}
		all = append(all, some...)
		if len(some) > 0 && len(some[len(some)-1].is) == 0 {
			break // it is always there
		}
	}
	return all
}

// A varsName is a name that include_vars tries, in folders; nil means the usual ones.
type varsName struct {
	text    string
	folders []string
}

// namesOfVars returns the names that include_vars tries.
func namesOfVars(task, n *yaml.Node) (names []varsName, ok bool) {
	e, item := expression.SoleExpr(n), "item"
	if v := yamlnode.Get(yamlnode.Get(task, "loop_control"), "loop_var"); v != nil {
		item = v.Value
	}
	loop := yamlnode.Get(task, "loop")
	first := yamlnode.Get(task, "with_first_found")
	if first == nil {
		first = yamlnode.Get(task, "ansible.builtin.with_first_found")
	}
	switch {
	case e != nil && e.Op == j2.Name && e.Text == item && first != nil:
		return foundNames(task, first)
	case e != nil && e.Op == j2.Name && e.Text == item && loop != nil:
		if e = expression.SoleExpr(loop); e == nil {
			return nil, false
		}
	case loop != nil || first != nil:
		return nil, false
	}
	if list, is := firstFound(e); is {
		if list.Op == j2.Name {
			return foundNames(task, yamlnode.Get(yamlnode.Get(task, "vars"), list.Text))
		}
		return nil, false
	}
	return []varsName{{text: n.Value}}, loop == nil
}

// firstFound returns the list of a lookup of first_found.
func firstFound(e *j2.Expr) (list *j2.Expr, is bool) {
	if e == nil || e.Op != j2.Call || len(e.Args) != 3 || e.Args[0].Op != j2.Name || !slices.Contains([]string{"lookup", "query", "q"}, e.Args[0].Text) {
		return nil, false
	}
	plugin, _ := e.Args[1].Lit.(string)
	return e.Args[2], strings.TrimPrefix(plugin, "ansible.builtin.") == "first_found"
}

// foundNames reads what first_found gets.
func foundNames(task, n *yaml.Node) (names []varsName, ok bool) {
	if e := expression.SoleExpr(n); e != nil && e.Op == j2.Name {
		n = yamlnode.Get(yamlnode.Get(task, "vars"), e.Text)
	}
	for _, one := range yamlnode.Items(n) {
		if one.Kind == yaml.ScalarNode {
			names = append(names, varsName{text: one.Value})
			continue
		}
		files := yamlnode.Get(one, "files")
		if one.Kind != yaml.MappingNode || files == nil {
			return nil, false
		}
		var folders []string
		for _, path := range yamlnode.Items(yamlnode.Get(one, "paths")) {
			folders = append(folders, path.Value)
		}
		for _, name := range yamlnode.Items(files) {
			names = append(names, varsName{name.Value, folders})
		}
	}
	return names, len(names) > 0
}

// choicesOf returns the files that a name may mean.
func (r *Role) choicesOf(name varsName, file string) (all []choice, ok bool) {
	inRole := regexp.MustCompile(`^\{\{ *role_path *\}\}/`)
	nodes, err := j2.ParseTemplate(inRole.ReplaceAllString(name.text, ""), j2.Options{KeepLineBreaks: true, AsIs: true})
	if err != nil {
		return nil, false
	}
	var pattern strings.Builder
	var expressions []*j2.Node
	for _, n := range nodes {
		switch n.Kind {
		case j2.Text:
			pattern.WriteString(regexp.QuoteMeta(n.Text))
		case j2.Print:
			pattern.WriteString(`([^/]+?)`)
			expressions = append(expressions, n)
			if n.Expr.Mentions(func(name string) bool { return !strings.HasPrefix(name, "ansible_") }) {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	text := strings.TrimPrefix(pattern.String(), `\.\./`)
	w := &expression.Writer{Scope: r.File(file).Scope()}
	folders := []string{"vars", "", "tasks"}
	if name.folders != nil {
		folders = nil
		for _, folder := range name.folders {
			folder = strings.TrimPrefix(inRole.ReplaceAllString(folder, ""), "../")
			folders = append(folders, folder, "vars/"+folder, "tasks/"+folder)
		}
	}
	for _, folder := range folders {
		base := filepath.Join(r.Dir, folder)
		is := regexp.MustCompile(`^` + text + `$`)
		for _, path := range r.To.From.Files(base) {
			rel, err := filepath.Rel(base, path)
			if err != nil {
				continue
			}
			words := is.FindStringSubmatch(filepath.ToSlash(rel))
			if words == nil || !r.To.From.IsFile(path) {
				continue
			}
			var c choice
			for i, n := range expressions {
				c.is = append(c.is, comparison{n.Raw, n.Expr, words[i+1]})
			}
			if when := c.when(); when != nil {
				if _, err := w.Write(when); err != nil {
					continue // no host has this value
				}
			}
			if c.vars, err = r.To.ReadYAML(path); err != nil {
				return nil, false
			}
			if c.vars == nil || c.vars.Kind != yaml.MappingNode {
				c.vars = yamlnode.Map()
			}
			all = append(all, c)
		}
		if len(all) > 0 {
			break
		}
	}
	return all, true
}

// kindOfIncluded returns the type that a variable has in all of the files with it.
func (f *Fact) kindOfIncluded() expression.Kind {
	kind := expression.KindOfNode(f.included[0])
	for _, n := range f.included {
		if expression.KindOfNode(n) != kind {
			return expression.AnyKind
		}
	}
	return kind
}

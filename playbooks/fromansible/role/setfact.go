package role

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A Fact is what tasks with set_fact make of a variable.
type Fact struct {
	Why   string // it cannot be carried over
	Data  bool   // it is data of the role; otherwise its expression stands in its place
	Early bool   // other values override it, as a default
	Kept  bool   // tasks never set it, since it has a default

	given    []assignment
	included []*yaml.Node // its values in files that include_vars chooses
	maybe    bool         // it is not always set
	settled  bool         // what becomes of it is decided, or is being decided
}

// fact returns what tasks make of a variable.
func (r *Role) fact(name string) *Fact {
	if r.Facts[name] == nil {
		r.Facts[name] = &Fact{}
	}
	return r.Facts[name]
}

type assignment struct {
	value *j2.Expr
	when  *j2.Expr // nil without one
	file  string
	over  *j2.Expr // the list of its loop; nil without one
	item  string   // what an element of that is called
}

// A variable is one of set_fact that becomes data.
type variable struct {
	name  string
	value *j2.Expr
	early bool
}

// statAsked finds what is asked of results of stat.
var statAsked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+)\.stat\.(\w+)`) })

// survey reads over all tasks of a role before any of them is converted: what they set, and
// what is asked of results.
func (r *Role) survey() {
	registers, looped := map[string]bool{}, map[string]bool{}
	chosen := r.chosenFiles()
	for _, path := range r.To.From.Files(r.Dir) {
		ending := filepath.Ext(path)
		if ending != ".yml" && ending != ".yaml" && ending != ".j2" {
			continue
		}
		text, err := r.To.From.ReadFile(path)
		if err != nil {
			continue
		}
		r.asks(string(text))
		if ending == ".j2" || !strings.Contains(path, "tasks") && !strings.Contains(path, "handlers") && r.Name != "" {
			continue
		}
		if n, err := r.To.ReadYAML(path); err == nil && n != nil {
			why := ""
			switch {
			case r.Chosen[r.Dir]:
				why = "set_fact in a role that runs under a condition"
			case strings.HasPrefix(path, filepath.Join(r.Dir, "handlers")):
				why = "set_fact in a handler"
			case chosen[filepath.Base(path)]:
				why = "set_fact in a file that is included under a condition"
			}
			r.surveyTasks(n, nil, survey{path, registers, looped, &strings.Builder{}, why}, false)
		}
	}
	r.settleAll(registers, looped)
}

// chosenFiles returns the names of the files of tasks that are included under a condition or in a loop, by their names.
func (r *Role) chosenFiles() map[string]bool {
	chosen := map[string]bool{}
	var visit func(n *yaml.Node, under bool)
	visit = func(n *yaml.Node, under bool) {
		for _, task := range yamlnode.Items(n) {
			if task.Kind != yaml.MappingNode {
				continue
			}
			under := under || yamlnode.Get(task, "when") != nil
			for i := 0; i+1 < len(task.Content); i += 2 {
				key, v := task.Content[i].Value, task.Content[i+1]
				switch strings.TrimPrefix(key, "ansible.builtin.") {
				case "block", "always":
					visit(v, under)
				case "rescue":
					visit(v, true)
				case "include_tasks", "import_tasks", "include":
					if v.Kind == yaml.MappingNode {
						v = yamlnode.Get(v, "file")
					}
					if v != nil && under {
						chosen[filepath.Base(v.Value)] = true
					}
				}
			}
		}
	}
	for _, path := range TaskFiles(r.To.From, filepath.Join(r.Dir, "tasks")) {
		if n, err := r.To.ReadYAML(path); err == nil && n != nil {
			visit(n, false)
		}
	}
	return chosen
}

// SurveyPlay does so for the tasks of a play.
func (r *Role) SurveyPlay(n *yaml.Node) {
	registers, looped := map[string]bool{}, map[string]bool{}
	r.surveyTasks(yamlnode.List(n), nil, survey{"", registers, looped, &strings.Builder{}, ""}, false)
	r.asks(string(yamlnode.Encode(n)))
	r.settleAll(registers, looped)
}

// asks notes what a text asks of results of stat.
func (r *Role) asks(text string) {
	for _, m := range statAsked().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(r.asked[m[1]], m[2]) {
			r.asked[m[1]] = append(r.asked[m[1]], m[2])
		}
	}
}

// Asked are the fields of a result of stat that are asked for somewhere.
func (r *Role) Asked(result string) []string { return slices.Clone(r.asked[result]) }

func (r *Role) settleAll(registers, looped map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
		r.settle(name, registers, looped)
	}
}

// A survey is what is found while tasks are read over.
type survey struct {
	file      string
	registers map[string]bool  // what tasks register
	looped    map[string]bool  // the files that loops include, by their names; "" if one is an expression
	before    *strings.Builder // the tasks that have been read
	why       string           // why set_fact cannot become data here; "" if it can
}

// within returns the survey of a part of a block or a play, or of a task for "".
func (s survey) within(n *yaml.Node, part string) survey {
	switch {
	case part == "handlers":
		s.why = "set_fact in a handler"
	case part == "rescue", part == "block" && yamlnode.Get(n, "rescue") != nil:
		s.why = "set_fact in a block with rescue"
	case slices.Contains(yamlnode.Names(yamlnode.Get(n, "tags")), "never"):
		s.why = "set_fact with the tag never"
	}
	return s
}

// includes notes the file that a task includes in a loop.
func (s survey) includes(task *yaml.Node) {
	for _, key := range []string{"include_tasks", "import_tasks", "include", "ansible.builtin.include_tasks", "ansible.builtin.import_tasks"} {
		n := yamlnode.Get(task, key)
		if n != nil && n.Kind == yaml.MappingNode {
			n = yamlnode.Get(n, "file")
		}
		switch _, _, loop := loopOf(task); {
		case n == nil || !loop:
		case yamlnode.HasJinja(n):
			s.looped[""] = true
		default:
			s.looped[filepath.Base(n.Value)] = true
		}
	}
}

// loopOf is the list that a task loops over, and what an element is called; over is nil of other loops than those
// over one list.
func loopOf(task *yaml.Node) (over *j2.Expr, item string, loop bool) {
	item = "item"
	if v := yamlnode.Get(yamlnode.Get(task, "loop_control"), "loop_var"); v != nil {
		item = v.Value
	}
	for i := 0; i+1 < len(task.Content); i += 2 {
		key, n := task.Content[i].Value, task.Content[i+1]
		if key != "loop" && !strings.HasPrefix(key, "with_") {
			continue
		}
		e, err := expression.ExprOf(n)
		nested := n.Kind == yaml.SequenceNode && slices.ContainsFunc(n.Content, func(one *yaml.Node) bool {
			return one.Kind == yaml.SequenceNode || key != "loop" && yamlnode.HasJinja(one)
		})
		switch {
		case err != nil || nested:
		case key == "loop", key == "with_items", key == "with_list":
			return e, item, true
		case key == "with_dict":
			return &j2.Expr{Op: j2.Filter, Text: "dict2items", Args: []*j2.Expr{e}, Kw: []string{""}}, item, true
		}
		return nil, item, true
	}
	return nil, item, false
}

// surveyTasks finds set_fact and register in tasks; when are the conditions of blocks around.
func (r *Role) surveyTasks(n *yaml.Node, when []*j2.Expr, s survey, vars bool) {
	for _, task := range yamlnode.Items(n) {
		if task.Kind != yaml.MappingNode || expression.Folds(r.File(s.file).Scope(), yamlnode.Get(task, "when")) {
			continue
		}
		for _, part := range []string{"tasks", "pre_tasks", "post_tasks", "handlers"} {
			r.surveyTasks(yamlnode.Get(task, part), when, s.within(task, part), vars)
		}
		conditions := slices.Clone(when)
		broken := vars || yamlnode.Get(task, "vars") != nil
		for _, one := range yamlnode.Items(yamlnode.Get(task, "when")) {
			e, err := j2.ParseExpr(one.Value)
			if err != nil {
				broken = true
				continue
			}
			conditions = append(conditions, e)
		}
		for _, part := range []string{"block", "rescue", "always"} {
			r.surveyTasks(yamlnode.Get(task, part), conditions, s.within(task, part), broken)
		}
		if name := yamlnode.Get(task, "register"); name != nil {
			s.registers[name.Value] = true
		}
		s.includes(task)
		earlier := s.before.String()
		if yamlnode.Get(task, "block") == nil {
			s.before.Write(yamlnode.Encode(task))
		}
		if !vars {
			var all *j2.Expr
			for _, e := range conditions {
				all = and(all, e)
			}
			r.surveyVars(task, all, s, earlier)
		}
		facts := yamlnode.Get(task, "set_fact")
		if facts == nil {
			facts = yamlnode.Get(task, "ansible.builtin.set_fact")
		}
		if facts == nil {
			continue
		}
		if facts.Kind == yaml.ScalarNode {
			facts = yamlnode.KeyValues(facts)
		}
		over, item, loop := loopOf(task)
		path := s.within(task, "")
		elsewhere := yamlnode.Get(task, "delegate_facts") != nil || yamlnode.Get(task, "run_once") != nil
		for i := 0; i+1 < len(facts.Content); i += 2 {
			name := facts.Content[i].Value
			if name == "cacheable" {
				continue
			}
			f := r.fact(name)
			value, err := expression.ExprOf(facts.Content[i+1])
			switch {
			case err != nil:
				f.Why = err.Error()
			case path.why != "":
				f.Why = path.why
			case loop && over == nil:
				f.Why = "set_fact in this kind of loop"
			case elsewhere:
				f.Why = "set_fact for other hosts"
			case len(f.given) == 0 && r.Data[name] != nil && wordIn(earlier, name):
				f.Why = "set_fact of a variable that tasks before it read"
			case broken:
				f.Why = "set_fact with variables of its own"
			}
			a := assignment{value: value, file: s.file, over: over, item: item}
			for _, e := range conditions {
				a.when = and(a.when, e)
			}
			f.given = append(f.given, a)
		}
	}
}

// mentions reports whether a variable stands in an expression.
func mentions(e *j2.Expr, is func(name string) bool) (found bool) {
	e.Walk(func(x *j2.Expr) bool {
		found = found || x.Op == j2.Name && is(x.Text)
		return true
	})
	return found
}

// wordIn reports whether a text has a name in it.
func wordIn(text, name string) bool {
	return strings.Contains(text, name) && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(text)
}

// settle decides what becomes of a variable that tasks set: the last assignment whose
// conditions are true counts, and before all of them what defaults or vars say.
func (r *Role) settle(name string, registers, looped map[string]bool) {
	f := r.Facts[name]
	if f.settled {
		return
	}
	if f.settled = true; f.Why != "" {
		return
	}
	var value *j2.Expr
	if n := r.Data[name]; n != nil {
		var err error
		if value, err = expression.ExprOf(n); err != nil {
			f.Why = err.Error()
			return
		}
	}
	own := func(s string) bool { return s == name }
	if value == nil && len(f.given) == 1 && ifUndefined(f.given[0].when, name) && !mentions(f.given[0].value, own) {
		f.Early, f.given[0].when = true, nil
	}
	if value != nil { // then it is never undefined
		f.given = slices.DeleteFunc(f.given, func(a assignment) bool { return ifUndefined(a.when, name) })
		if len(f.given) == 0 {
			f.Data, f.Kept = true, true
			return
		}
	}
	for i, a := range f.given {
		made := mentions(a.value, own) || mentions(a.when, own) || mentions(a.over, own)
		inOrder := a.file == f.given[0].file // files are not read in the order in which they are carried out
		switch {
		case (made || a.over != nil) && (looped[""] || looped[filepath.Base(a.file)]):
			f.Why = "set_fact of a variable that is made of itself, in a file that a loop includes"
		case made && i > 0 && !inOrder:
			f.Why = "set_fact of a variable that is made of itself"
		case a.over != nil:
			f.maybe = f.maybe || value == nil && !mentions(a.value, own)
			value, f.Why = a.looped(name, value)
		case made && value == nil:
			f.Why = "set_fact of a variable that is made of itself"
		case made:
			a.value, a.when = instead(a.value, name, value), instead(a.when, name, value)
		}
		switch {
		case f.Why != "":
			return
		case a.over != nil:
		case a.when == nil && i > 0 && !made:
			f.Why = "set_fact of a variable that was set before"
			return
		case a.when == nil:
			value = a.value
		case value == nil: // it may not be there: then it is nil
			f.maybe = true
			value = &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{a.when, a.value, {Op: j2.Literal}}}
		default:
			value = &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{a.when, a.value, value}}
		}
	}
	if mentions(value, func(s string) bool { return s == "item" }) && !slices.ContainsFunc(f.given, func(a assignment) bool { return a.over != nil }) {
		f.Why = "set_fact of an element of a loop"
		return
	}
	depends := func(s string) bool {
		other := r.Facts[s]
		if other != nil && s != name {
			r.settle(s, registers, looped)
		}
		return registers[s] || other != nil && s != name && !other.Data
	}
	if f.Data = (!f.maybe || len(f.included) == len(f.given)) && !mentions(value, depends); f.Data {
		r.variables = append(r.variables, variable{name, value, f.Early})
		return
	}
	r.values[name] = value
}

// ifUndefined reports whether a condition is that a variable is not defined.
func ifUndefined(when *j2.Expr, name string) bool {
	not := false
	for when != nil && when.Op == j2.Not {
		when, not = when.Args[0], !not
	}
	if when == nil || when.Op != j2.Test || len(when.Args) != 1 || when.Args[0].Op != j2.Name || when.Args[0].Text != name {
		return false
	}
	return when.Text == "undefined" && when.Not == not || when.Text == "defined" && when.Not != not
}

// instead has another expression in the place of a name.
func instead(e *j2.Expr, name string, by *j2.Expr) *j2.Expr {
	return e.Map(func(x *j2.Expr) *j2.Expr {
		if x.Op == j2.Name && x.Text == name {
			return by
		}
		return x
	})
}

// looped is what a variable comes to in a loop: a list to which one element is added in each round, or what the
// last round sets. before is what it was; nil if it was not.
func (a assignment) looped(name string, before *j2.Expr) (value *j2.Expr, why string) {
	own := func(s string) bool { return s == name }
	each := func(made *j2.Expr) *j2.Expr {
		return &j2.Expr{Op: j2.Each, Text: a.item, Args: []*j2.Expr{a.over, made, a.when}}
	}
	if mentions(a.when, own) || mentions(a.over, own) {
		return nil, "set_fact in a loop that depends on the variable itself"
	}
	if !mentions(a.value, own) {
		all := each(a.value)
		last := &j2.Expr{Op: j2.Filter, Text: "last", Args: []*j2.Expr{all}, Kw: []string{""}}
		if before == nil {
			before = &j2.Expr{Op: j2.Literal}
		}
		return &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{all, last, before}}, ""
	}
	if a.value.Op != j2.Binary || a.value.Text != "+" || a.value.Args[1].Op != j2.List || len(a.value.Args[1].Args) != 1 || mentions(a.value.Args[1], own) {
		return nil, "set_fact in a loop that does other than to add one element to a list"
	}
	first := a.value.Args[0]
	isDefault := first.Op == j2.Filter && (first.Text == "default" || first.Text == "d") && len(first.Args) > 1 && first.Args[1].Op == j2.List && len(first.Args[1].Args) == 0
	switch {
	case first.Op == j2.Name && before != nil, isDefault && first.Args[0].Op == j2.Name && before != nil:
	case isDefault && first.Args[0].Op == j2.Name:
		before = &j2.Expr{Op: j2.List}
	default:
		return nil, "set_fact in a loop that adds to what nothing has set"
	}
	made := each(a.value.Args[1].Args[0])
	if before.Op == j2.List && len(before.Args) == 0 {
		return made, ""
	}
	return &j2.Expr{Op: j2.Binary, Text: "+", Args: []*j2.Expr{before, made}}, ""
}

// SetVariables are those of set_fact that do not depend on results, and become data: their names, and what
// each is set to, which is nil where that cannot be said.
func (r *Role) SetVariables() (names []string, values []*yaml.Node) {
	return r.setVariables(func(variable) bool { return true })
}

func (r *Role) setVariables(which func(variable) bool) (names []string, values []*yaml.Node) {
	w := &expression.Writer{Scope: r.File("").Scope()}
	for _, v := range r.variables {
		if !which(v) {
			continue
		}
		n, err := w.DataOf(v.value)
		if err != nil {
			n, r.Facts[v.name].Why = nil, err.Error()
		}
		names, values = append(names, v.name), append(values, n)
	}
	return names, values
}

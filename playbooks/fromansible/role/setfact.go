package role

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A Fact is what tasks with set_fact make of a variable.
type Fact struct {
	Why  string // it cannot be carried over
	Data bool   // it is data of the role; otherwise its expression stands in its place

	given []assignment
	maybe bool // it is not always set
}

type assignment struct {
	value *j2.Expr
	when  *j2.Expr // nil without one
}

// A variable is one of set_fact that becomes data.
type variable struct {
	name  string
	value *j2.Expr
}

// statAsked finds what is asked of results of stat.
var statAsked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+)\.stat\.(\w+)`) })

// survey reads over all tasks of a role before any of them is converted: what they set, and
// what is asked of results.
func (r *Role) survey() {
	registers := map[string]bool{}
	filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		ending := filepath.Ext(path)
		if ending != ".yml" && ending != ".yaml" && ending != ".j2" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > output.MaxFile {
			return nil
		}
		r.asks(string(text))
		if ending == ".j2" || !strings.Contains(path, "tasks") && !strings.Contains(path, "handlers") && r.Name != "" {
			return nil
		}
		if n, err := r.To.ReadYAML(path); err == nil && n != nil {
			r.surveyTasks(n, nil, registers, false)
		}
		return nil
	})
	r.settleAll(registers)
}

// SurveyPlay does so for the tasks of a play.
func (r *Role) SurveyPlay(n *yaml.Node) {
	registers := map[string]bool{}
	r.surveyTasks(yamlnode.List(n), nil, registers, false)
	r.asks(string(yamlnode.Encode(n)))
	r.settleAll(registers)
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

func (r *Role) settleAll(registers map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
		r.settle(name, registers)
	}
}

// surveyTasks finds set_fact and register in tasks; when are the conditions of blocks around.
func (r *Role) surveyTasks(n *yaml.Node, when []*j2.Expr, registers map[string]bool, vars bool) {
	for _, task := range yamlnode.Items(n) {
		if task.Kind != yaml.MappingNode {
			continue
		}
		for _, part := range []string{"tasks", "pre_tasks", "post_tasks", "handlers"} {
			r.surveyTasks(yamlnode.Get(task, part), when, registers, vars)
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
			r.surveyTasks(yamlnode.Get(task, part), conditions, registers, broken)
		}
		if name := yamlnode.Get(task, "register"); name != nil {
			registers[name.Value] = true
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
		looped := yamlnode.Get(task, "loop") != nil || yamlnode.Get(task, "delegate_to") != nil || yamlnode.Get(task, "run_once") != nil
		for i := 0; i+1 < len(task.Content); i += 2 {
			looped = looped || strings.HasPrefix(task.Content[i].Value, "with_")
		}
		for i := 0; i+1 < len(facts.Content); i += 2 {
			name := facts.Content[i].Value
			if name == "cacheable" {
				continue
			}
			f := r.Facts[name]
			if f == nil {
				f = &Fact{}
				r.Facts[name] = f
			}
			value, err := expression.ExprOf(facts.Content[i+1])
			switch {
			case err != nil:
				f.Why = err.Error()
			case looped:
				f.Why = "set_fact in a loop or for other hosts"
			case broken:
				f.Why = "set_fact with variables of its own"
			}
			a := assignment{value: value}
			for _, e := range conditions {
				if a.when == nil {
					a.when = e
				} else {
					a.when = &j2.Expr{Op: j2.Binary, Text: "and", Args: []*j2.Expr{a.when, e}}
				}
			}
			f.given = append(f.given, a)
		}
	}
}

// settle decides what becomes of a variable that tasks set: the last assignment whose
// conditions are true counts, and before all of them what defaults or vars say.
func (r *Role) settle(name string, registers map[string]bool) {
	f := r.Facts[name]
	if f.Why != "" {
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
	mentions := func(e *j2.Expr, is func(string) bool) (found bool) {
		e.Walk(func(x *j2.Expr) bool {
			found = found || x.Op == j2.Name && is(x.Text)
			return true
		})
		return found
	}
	before := value
	for i, a := range f.given {
		own := func(s string) bool { return s == name }
		if mentions(a.value, own) || mentions(a.when, own) {
			if i > 0 || before == nil {
				f.Why = "set_fact of a variable that is made of itself"
				return
			}
			replace := func(e *j2.Expr) *j2.Expr {
				return e.Map(func(x *j2.Expr) *j2.Expr {
					if x.Op == j2.Name && x.Text == name {
						return before
					}
					return x
				})
			}
			a.value, a.when = replace(a.value), replace(a.when)
		}
		switch {
		case a.when == nil && i > 0:
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
	if mentions(value, func(s string) bool { return s == "item" }) {
		f.Why = "set_fact of an element of a loop"
		return
	}
	depends := func(s string) bool {
		other := r.Facts[s]
		return registers[s] || other != nil && s != name && !other.Data
	}
	if f.Data = !f.maybe && !mentions(value, depends); f.Data {
		r.variables = append(r.variables, variable{name, value})
		return
	}
	r.values[name] = value
}

// SetVariables are those of set_fact that do not depend on results, and become data: their names, and what
// each is set to, which is nil where that cannot be said.
func (r *Role) SetVariables() (names []string, values []*yaml.Node) {
	w := &expression.Writer{Scope: r.File("").Scope()}
	for _, v := range r.variables {
		n, err := w.DataOf(v.value)
		if err != nil {
			n, r.Facts[v.name].Why = nil, err.Error()
		}
		names, values = append(names, v.name), append(values, n)
	}
	return names, values
}

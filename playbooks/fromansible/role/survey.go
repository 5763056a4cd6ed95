package role

import (
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

// statAsked finds fields of results of stat.
var statAsked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\w+)\.stat\.(\w+)`) })

// A survey is the state of reading all tasks of a role before any of them is converted.
type survey struct {
	file   string
	late   map[string]bool  // names that tasks register or set
	before *strings.Builder // the tasks that have been read
}

// survey reads over all tasks of a role: which variables they choose by facts, and which fields of results they read.
func (r *Role) survey() {
	s := survey{late: map[string]bool{}}
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
			s.file, s.before = path, &strings.Builder{}
			r.surveyTasks(n, nil, s, false)
		}
	}
	r.settle(s.late)
}

// SurveyPlay does so for the tasks of a play.
func (r *Role) SurveyPlay(n *yaml.Node) {
	s := survey{late: map[string]bool{}, before: &strings.Builder{}}
	r.surveyTasks(yamlnode.List(n), nil, s, false)
	r.asks(string(yamlnode.Encode(n)))
	r.settle(s.late)
}

// asks notes the fields of results of stat that a text reads.
func (r *Role) asks(text string) {
	for _, m := range statAsked().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(r.asked[m[1]], m[2]) {
			r.asked[m[1]] = append(r.asked[m[1]], m[2])
		}
	}
}

// Asked returns the fields of a result of stat that expressions read.
func (r *Role) Asked(result string) []string { return slices.Clone(r.asked[result]) }

// surveyTasks finds include_vars, set_fact and register in tasks. when is the condition of blocks around them, nil without
// one; vars reports that they have variables of their own.
func (r *Role) surveyTasks(n *yaml.Node, when *j2.Expr, s survey, vars bool) {
	for _, task := range yamlnode.Items(n) {
		if task.Kind != yaml.MappingNode || expression.Folds(r.File(s.file).Scope(), yamlnode.Get(task, "when")) {
			continue
		}
		for _, part := range []string{"tasks", "pre_tasks", "post_tasks", "handlers"} {
			r.surveyTasks(yamlnode.Get(task, part), when, s, vars)
		}
		condition, broken := when, vars || yamlnode.Get(task, "vars") != nil
		for _, one := range yamlnode.Items(yamlnode.Get(task, "when")) {
			e, err := j2.ParseExpr(one.Value)
			if broken = broken || err != nil; err == nil {
				condition = and(condition, e)
			}
		}
		for _, part := range []string{"block", "rescue", "always"} {
			r.surveyTasks(yamlnode.Get(task, part), condition, s, broken)
		}
		if name := yamlnode.Get(task, "register"); name != nil {
			s.late[name.Value] = true
		}
		for _, module := range []string{"set_fact", "ansible.builtin.set_fact"} {
			if facts := yamlnode.Get(task, module); facts != nil {
				for i := 0; i < len(facts.Content); i += 2 {
					s.late[facts.Content[i].Value] = true
				}
			}
		}
		if !vars {
			r.surveyVars(task, condition, s, s.before.String())
		}
		if yamlnode.Get(task, "block") == nil {
			s.before.Write(yamlnode.Encode(task))
		}
	}
}

package task

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A Keyword is a row of the table of what tasks have beside their module.
type Keyword struct {
	Here string // what has its place; "" if there is nothing
	Why  string // why so, or what is different
	by   func(t *Task, n *yaml.Node)
}

// Keywords are the keywords of tasks, in no order. Those without a function are read elsewhere, or
// mean nothing here.
var Keywords = map[string]Keyword{
	"name":               {Here: "a comment; the name of an `exec`"},
	"args":               {Here: "properties"},
	"action":             {Here: "its module"},
	"local_action":       {Here: "its module, and `on: controller`"},
	"when":               {Here: "`control: {if: …}`", by: when},
	"loop":               {Here: "`each`"},
	"loop_control":       {Here: "`Item`, whatever `loop_var` says", Why: "`index_var`, `extended` and `pause` have no counterpart"},
	"register":           {Here: "`register`", Why: "a name that is registered twice gets a number"},
	"notify":             {Here: "`subscribe` at the handler"},
	"listen":             {Here: "`subscribe` at each handler that listens"},
	"tags":               {Here: "`tags`", by: tags},
	"become":             {Here: "`become` of the play", Why: "escalation is for a play; in it, all is done as root", by: become},
	"become_user":        {Here: "`user` of an `exec`, a `git`, or a `package` of pip or npm", Why: "other types have owners: only where owner and group are given", by: func(*Task, *yaml.Node) {}},
	"become_method":      {Here: "`become_method` of the play", by: func(t *Task, _ *yaml.Node) { t.Problem("become_method at a task") }},
	"become_flags":       {Why: "`become`, `become_user` and `become_method` of the play say it all", by: func(t *Task, _ *yaml.Node) { t.Problem("become_flags") }},
	"become_exe":         {Why: "`become`, `become_user` and `become_method` of the play say it all", by: func(t *Task, _ *yaml.Node) { t.Problem("become_exe") }},
	"delegate_to":        {Here: "`on`", by: delegate},
	"delegate_facts":     {Why: "facts are those of the host that the play is for", by: func(t *Task, _ *yaml.Node) { t.Problem("delegate_facts") }},
	"run_once":           {Here: "`once: true`", by: once},
	"until":              {Here: "`retry`", Why: "for success, and exit codes; what a command prints is not looked at", by: until},
	"retries":            {Here: "`retry`"},
	"delay":              {Here: "`delay`"},
	"changed_when":       {Here: "`readonly: true` for `false`", Why: "other conditions only say what is reported: an `exec` without a guard is a change each time", by: changedWhen},
	"failed_when":        {Here: "`returns`", Why: "for exit codes; `false` is all of them", by: failedWhen},
	"ignore_errors":      {Here: "a block with `rescue`", by: func(*Task, *yaml.Node) {}},
	"ignore_unreachable": {Why: "hosts that cannot be reached end as the play says", by: func(t *Task, _ *yaml.Node) { t.Problem("ignore_unreachable") }},
	"no_log":             {Here: "`sensitive`", by: noLog},
	"check_mode":         {Here: "`noop: true` for `true`, `readonly: true` of an `exec` for `false`", by: checkMode},
	"diff":               {Here: "`--diff` of a run", by: func(t *Task, _ *yaml.Node) {}},
	"environment":        {Here: "`environment` of an `exec`", by: environment},
	"vars":               {Here: "`vars`"},
	"async":              {Here: "`timeout`", by: async},
	"poll":               {Here: "nothing, unless it is 0", Why: "0 has no counterpart: a resource is done when its command has ended"},
	"timeout":            {Here: "`timeout`", by: timeout},
	"throttle":           {Here: "`sema: NAME:N`", by: throttle},
	"any_errors_fatal":   {Here: "`any_errors_fatal` of the play", by: func(t *Task, _ *yaml.Node) { t.Problem("any_errors_fatal at a task: write it at the play") }},
	"module_defaults":    {Here: "properties", by: func(t *Task, _ *yaml.Node) { t.Problem("module_defaults at a task") }},
	"collections":        {Here: "nothing", by: func(*Task, *yaml.Node) {}},
	"connection": {Here: "the inventory", by: func(t *Task, n *yaml.Node) {
		if n.Value != "local" {
			t.Problem("connection at a task: the inventory says how a host is reached")
		}
	}},
	"remote_user":          {Here: "the inventory", by: func(t *Task, _ *yaml.Node) { t.Problem("remote_user at a task: the inventory says who logs in") }},
	"port":                 {Here: "the inventory", by: func(t *Task, _ *yaml.Node) { t.Problem("port at a task: the inventory says it") }},
	"debugger":             {Here: "`--check --diff`, `-v`", by: func(*Task, *yaml.Node) {}},
	"first_available_file": {Why: "it is of Ansible 1", by: func(t *Task, _ *yaml.Node) { t.Problem("first_available_file") }},
}

// keywordOrder is the order in which they are applied: later ones look at what earlier ones have written.
var keywordOrder = []string{
	"environment", "changed_when", "check_mode", "failed_when", "until", "async", "timeout", "become", "delegate_to", "connection", "run_once", "throttle", "no_log", "tags", "when",
}

func (t *Task) ApplyKeywords() {
	for _, key := range slices.Sorted(maps.Keys(t.Keywords)) {
		if r := Keywords[key]; r.by != nil && !slices.Contains(keywordOrder, key) {
			r.by(t, t.Keywords[key])
		}
	}
	putVars(t.Entries, t.vars)
	for _, key := range keywordOrder {
		n := t.Keywords[key]
		if n == nil && (key != "environment" || t.Around.Environment == nil) && (key != "become" || t.Around.BecomeUser == "" && t.Keywords["become_user"] == nil) {
			continue
		}
		Keywords[key].by(t, n)
	}
	checkNotify(t)
	if t.Main == nil {
		return
	}
	if t.IsLoop() && !t.Plain && t.Main.Get("each") == nil {
		t.Problem("a loop of the module %s", t.Module)
	}
	nameElements(t, t.Main)
	registered(t, t.Main)
	ignoring(t)
}

// checkNotify reports handlers that are not there.
func checkNotify(t *Task) {
	for _, one := range yamlnode.Items(t.Keywords["notify"]) {
		switch {
		case j2.HasTags(one.Value):
			t.Problem("the name of a handler that is an expression: %s", expression.Shortened(one.Value))
		case !t.Handled(one.Value):
			t.Problem("the handler %q, which is not there", one.Value)
		}
	}
}

// Control has a resource be there under conditions, all of which must hold.
func Control(list []*yaml.Node) *yaml.Node {
	value := yamlnode.List(list...)
	if len(list) == 1 {
		value = list[0]
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{yamlnode.Text("if"), value}}
}

func when(t *Task, n *yaml.Node) {
	list, err := t.W.Conditions(n)
	t.Fail(err)
	if err == nil && len(list) > 0 {
		for _, e := range t.Entries {
			if control := e.Get("control"); control != nil { // what the module itself has written
				if old := yamlnode.Get(control, "if"); old != nil {
					e.Set("control", Control(append(append([]*yaml.Node{}, list...), yamlnode.Items(old)...)))
					continue
				}
				control.Content = append(control.Content, yamlnode.Text("if"), yamlnode.Get(Control(list), "if"))
				continue
			}
			e.Set("control", Control(list))
		}
	}
}

func tags(t *Task, n *yaml.Node) {
	for _, tag := range yamlnode.Names(n) {
		if j2.HasTags(tag) {
			t.Problem("a tag that is an expression")
			return
		}
	}
	if tags := yamlnode.Names(n); len(tags) > 0 {
		for _, e := range t.Entries {
			e.Set("tags", yamlnode.Texts(tags...))
		}
	}
}

func noLog(t *Task, n *yaml.Node) {
	var value *yaml.Node
	if b, ok := yamlnode.BoolOf(n); ok {
		if !b {
			return
		}
		value = yamlnode.Bool(true)
	} else {
		e := expression.SoleExpr(n)
		if e == nil {
			t.Problem("no_log: %s", n.Value)
			return
		}
		term, err := t.W.Condition(e)
		t.Fail(err)
		value = yamlnode.Text("{{ " + term.Text + " }}")
	}
	for _, e := range t.Entries {
		e.Set("sensitive", value)
	}
}

func checkMode(t *Task, n *yaml.Node) {
	b, ok := yamlnode.BoolOf(n)
	switch {
	case !ok:
		t.Problem("check_mode that is an expression")
	case b:
		for _, e := range t.Entries {
			e.Set("noop", yamlnode.Bool(true))
		}
	case t.Main != nil && t.Main.Type == "exec" && t.Main.Get("readonly") == nil && t.Keywords["changed_when"] == nil:
		t.Note("check_mode: false; in a check run it is not carried out")
	case t.Main != nil && t.Main.Type != "exec" && t.Main.Type != "apply":
		t.Note("check_mode: false; in a check run it is predicted, not carried out")
	}
}

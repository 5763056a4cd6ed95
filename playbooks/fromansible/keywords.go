package fromansible

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A keyword is a row of the table of what tasks have beside their module.
type keyword struct {
	here string // what has its place; "" if there is nothing
	why  string // why so, or what is different
	by   func(t *task, n *yaml.Node)
}

// keywordRows are the keywords of tasks, in no order. Those without a function are read elsewhere, or
// mean nothing here.
var keywordRows map[string]keyword

func init() {
	keywordRows = map[string]keyword{
		"name":               {here: "a comment; the name of an `exec`"},
		"args":               {here: "properties"},
		"action":             {here: "its module"},
		"local_action":       {here: "its module, and `on: controller`"},
		"when":               {here: "`control: {if: …}`", by: (*task).when},
		"loop":               {here: "`each`"},
		"loop_control":       {here: "`Item`, whatever `loop_var` says", why: "`index_var`, `extended` and `pause` have no counterpart"},
		"register":           {here: "`register`", why: "a name that is registered twice gets a number"},
		"notify":             {here: "`subscribe` at the handler"},
		"listen":             {here: "`subscribe` at each handler that listens"},
		"tags":               {here: "`tags`", by: (*task).tags},
		"become":             {here: "`become` of the play", why: "escalation is for a play; in it, all is done as root", by: (*task).become},
		"become_user":        {here: "`user` of an `exec` or a `git`", why: "other types have owners: only where owner and group are given", by: func(*task, *yaml.Node) {}},
		"become_method":      {here: "`become_method` of the play", by: func(t *task, _ *yaml.Node) { t.problem("become_method at a task") }},
		"become_flags":       {why: "`become`, `become_user` and `become_method` of the play say it all", by: func(t *task, _ *yaml.Node) { t.problem("become_flags") }},
		"become_exe":         {why: "`become`, `become_user` and `become_method` of the play say it all", by: func(t *task, _ *yaml.Node) { t.problem("become_exe") }},
		"delegate_to":        {here: "`on`", by: (*task).delegate},
		"delegate_facts":     {why: "facts are those of the host that the play is for", by: func(t *task, _ *yaml.Node) { t.problem("delegate_facts") }},
		"run_once":           {here: "`once: true`", by: (*task).once},
		"until":              {here: "`retry`", why: "for success, and exit codes; what a command prints is not looked at", by: (*task).until},
		"retries":            {here: "`retry`"},
		"delay":              {here: "`delay`"},
		"changed_when":       {here: "`readonly: true` for `false`", why: "other conditions only say what is reported: an `exec` without a guard is a change each time", by: (*task).changedWhen},
		"failed_when":        {here: "`returns`", why: "for exit codes; `false` is all of them", by: (*task).failedWhen},
		"ignore_errors":      {here: "a block with `rescue`", by: func(*task, *yaml.Node) {}},
		"ignore_unreachable": {why: "hosts that cannot be reached end as the play says", by: func(t *task, _ *yaml.Node) { t.problem("ignore_unreachable") }},
		"no_log":             {here: "`sensitive`", by: (*task).noLog},
		"check_mode":         {here: "`noop: true` for `true`, `readonly: true` of an `exec` for `false`", by: (*task).checkMode},
		"diff":               {here: "`--diff` of a run", by: func(t *task, _ *yaml.Node) {}},
		"environment":        {here: "`environment` of an `exec`", by: (*task).environment},
		"vars":               {here: "the expressions in the place of their names"},
		"async":              {here: "`timeout`", by: (*task).async},
		"poll":               {here: "nothing, unless it is 0", why: "0 has no counterpart: a resource is done when its command has ended"},
		"timeout":            {here: "`timeout`", by: (*task).timeout},
		"throttle":           {here: "`sema: NAME:N`", by: (*task).throttle},
		"any_errors_fatal":   {here: "`any_errors_fatal` of the play", by: func(t *task, _ *yaml.Node) { t.problem("any_errors_fatal at a task: write it at the play") }},
		"module_defaults":    {here: "properties", by: func(t *task, _ *yaml.Node) { t.problem("module_defaults at a task") }},
		"collections":        {here: "nothing", by: func(*task, *yaml.Node) {}},
		"connection": {here: "the inventory", by: func(t *task, n *yaml.Node) {
			if n.Value != "local" {
				t.problem("connection at a task: the inventory says how a host is reached")
			}
		}},
		"remote_user":          {here: "the inventory", by: func(t *task, _ *yaml.Node) { t.problem("remote_user at a task: the inventory says who logs in") }},
		"port":                 {here: "the inventory", by: func(t *task, _ *yaml.Node) { t.problem("port at a task: the inventory says it") }},
		"debugger":             {here: "`--check --diff`, `-v`", by: func(*task, *yaml.Node) {}},
		"first_available_file": {why: "it is of Ansible 1", by: func(t *task, _ *yaml.Node) { t.problem("first_available_file") }},
	}
}

// keywordOrder is the order in which they are applied: later ones look at what earlier ones have written.
var keywordOrder = []string{
	"environment", "changed_when", "check_mode", "failed_when", "until", "async", "timeout", "become", "delegate_to", "connection", "run_once", "throttle", "no_log", "tags", "when",
}

func (t *task) applyKeywords() {
	for key, n := range t.keywords {
		if r := keywordRows[key]; r.by != nil && !contains(keywordOrder, key) {
			r.by(t, n)
		}
	}
	for _, key := range keywordOrder {
		n := t.keywords[key]
		if n == nil && (key != "environment" || t.around.environment == nil) && (key != "become" || t.around.becomeUser == "" && t.keywords["become_user"] == nil) {
			continue
		}
		keywordRows[key].by(t, n)
	}
	t.checkNotify()
	if t.main == nil {
		return
	}
	if t.isLoop() && !t.plain && t.main.Get("each") == nil {
		t.problem("a loop of the module %s", t.module)
	}
	t.nameElements(t.main)
	t.registered(t.main)
	t.ignoring()
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

func controlNode(list []*yaml.Node) *yaml.Node {
	value := yamlnode.List(list...)
	if len(list) == 1 {
		value = list[0]
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{yamlnode.Text("if"), value}}
}

func (t *task) when(n *yaml.Node) {
	list, err := t.w.Conditions(n)
	t.fail(err)
	if err == nil && len(list) > 0 {
		for _, e := range t.entries {
			if control := e.Get("control"); control != nil { // what the module itself has written
				if old := yamlnode.Get(control, "if"); old != nil {
					e.Set("control", controlNode(append(append([]*yaml.Node{}, list...), yamlnode.Items(old)...)))
					continue
				}
				control.Content = append(control.Content, yamlnode.Text("if"), yamlnode.Get(controlNode(list), "if"))
				continue
			}
			e.Set("control", controlNode(list))
		}
	}
}

// tagNames are the tags of a task or a block.
func tagNames(n *yaml.Node) []string {
	var list []string
	for _, one := range yamlnode.Items(n) {
		for _, tag := range strings.Split(one.Value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}

func (t *task) tags(n *yaml.Node) {
	for _, tag := range tagNames(n) {
		if j2.HasTags(tag) {
			t.problem("a tag that is an expression")
			return
		}
	}
	if tags := tagNames(n); len(tags) > 0 {
		for _, e := range t.entries {
			e.Set("tags", yamlnode.Texts(tags...))
		}
	}
}

// become writes who acts. What is done as root is done so by all of the play.
func (t *task) become(n *yaml.Node) {
	user := t.around.becomeUser
	if u := t.keywords["become_user"]; u != nil {
		user = u.Value
	}
	if n != nil {
		b, ok := yamlnode.BoolOf(n)
		switch {
		case yamlnode.HasJinja(n):
			t.note("become is an expression; the play decides")
		case !ok:
			t.problem("become: %s", n.Value)
			return
		case !b && !t.onController():
			t.note("become: false; all of a play is done as one user")
			t.problem("become: false at a task: a play has one user")
			return
		case !b:
			return
		}
		t.c.role.became = true
	}
	if user == "" || user == "root" || t.main == nil {
		return
	}
	switch {
	case t.main.Type == "exec" || t.main.Type == "git":
		text, err := t.w.Text(user)
		t.fail(err)
		t.main.SetText("user", text)
	case t.main.Get("owner") != nil && t.main.Get("group") != nil:
	default:
		t.problem("become_user at a resource of type %s, which has no owner and group", t.main.Type)
	}
}

func (t *task) onController() bool {
	n := t.keywords["delegate_to"]
	return n != nil && isLocalhost(n.Value) || t.around.delegated
}

func isLocalhost(name string) bool { return name == "localhost" || name == "127.0.0.1" }

func (t *task) delegate(n *yaml.Node) {
	if n == nil {
		return
	}
	name := "controller"
	if !isLocalhost(n.Value) {
		var err error
		if name, err = t.w.Text(n.Value); err != nil {
			t.fail(err)
			return
		}
	}
	for _, e := range t.entries {
		if e.Type == "apply" {
			t.problem("delegate_to at tasks that are included: a block can have it")
			return
		}
		e.SetText("on", name)
	}
}

func (t *task) once(n *yaml.Node) {
	b, ok := yamlnode.BoolOf(n)
	switch {
	case !ok:
		t.problem("run_once that is an expression")
	case b:
		for _, e := range t.entries {
			if e.Type == "apply" {
				t.problem("run_once at tasks that are included: a block can have it")
				return
			}
			e.Set("once", yamlnode.Bool(true))
		}
	}
}

func (t *task) noLog(n *yaml.Node) {
	var value *yaml.Node
	if b, ok := yamlnode.BoolOf(n); ok {
		if !b {
			return
		}
		value = yamlnode.Bool(true)
	} else {
		e := expression.SoleExpr(n)
		if e == nil {
			t.problem("no_log: %s", n.Value)
			return
		}
		term, err := t.w.Condition(e)
		t.fail(err)
		value = yamlnode.Text("{{ " + term.Text + " }}")
	}
	for _, e := range t.entries {
		e.Set("sensitive", value)
	}
}

func (t *task) checkMode(n *yaml.Node) {
	b, ok := yamlnode.BoolOf(n)
	switch {
	case !ok:
		t.problem("check_mode that is an expression")
	case b:
		for _, e := range t.entries {
			e.Set("noop", yamlnode.Bool(true))
		}
	case t.main != nil && t.main.Type == "exec" && t.main.Get("readonly") == nil && t.keywords["changed_when"] == nil:
		t.note("check_mode: false; in a check run it is not carried out")
	case t.main != nil && t.main.Type != "exec" && t.main.Type != "apply":
		t.note("check_mode: false; in a check run it is predicted, not carried out")
	}
}

// changedWhen has a command that is never a change be one that only looks.
func (t *task) changedWhen(n *yaml.Node) {
	if t.main == nil {
		return
	}
	b, literal := yamlnode.BoolOf(n)
	isExec := t.main.Type == "exec"
	switch {
	case isExec && literal && !b:
		if t.main.Get("creates") != nil {
			return
		}
		t.main.Set("readonly", yamlnode.Bool(true))
		if c := t.keywords["check_mode"]; c == nil {
			t.note("changed_when: false; it runs in check runs, too")
		}
	case literal && b:
	case t.keywords["notify"] != nil || t.keywords["register"] != nil && t.askedChanged():
		t.problem("changed_when that others depend on: a guard (onlyif, unless, creates) decides it beforehand")
	case isExec:
		t.note("changed_when; it is told as changed each time it runs")
	default:
		t.note("changed_when; whether it is changed is what the host shows")
	}
}

// askedChanged reports whether anything of the role asks if the task has changed something.
func (t *task) askedChanged() bool {
	name := t.keywords["register"].Value
	return t.c.mentioned(name+".changed") || t.c.mentioned(name+" is changed") || t.c.mentioned(name+"|changed") || t.c.mentioned(name+" | changed")
}

// everyCode is all exit codes.
const everyCode = "{{ 0..255 }}"

// failedWhen writes which exit codes are a success.
func (t *task) failedWhen(n *yaml.Node) {
	if b, ok := yamlnode.BoolOf(n); ok {
		switch {
		case b:
			t.problem("failed_when: true")
		case t.main != nil && t.main.Type == "exec":
			t.everyCode()
		default:
			t.keywords["ignore_errors"] = yamlnode.Bool(true)
		}
		return
	}
	if t.main == nil || t.main.Type != "exec" || t.keywords["register"] == nil {
		t.problem("failed_when of the module %s", t.module)
		return
	}
	codes, ok := t.codes(n)
	if !ok {
		t.problem("failed_when, unless it is about exit codes: write register, and an exec with control that fails")
		return
	}
	if codes == nil {
		t.everyCode()
		return
	}
	t.main.Set("returns", codes)
}

func (t *task) everyCode() {
	t.main.SetText("returns", everyCode)
	if t.result != nil {
		t.result.Lax = true
	}
}

// codes reads x.rc != 0 and x.rc != 2, x.rc not in [0, 2], x.rc > 1 and x.rc == 1.
func (t *task) codes(n *yaml.Node) (*yaml.Node, bool) {
	name := t.keywords["register"].Value
	var bad [256]bool // of a list, all must be true
	for i := range bad {
		bad[i] = true
	}
	for _, one := range yamlnode.Items(n) {
		e, err := j2.ParseExpr(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(one.Value), "{{"), "}}"))
		if err != nil {
			return nil, false
		}
		for i := range bad {
			fails, ok := failsWith(e, name, int64(i))
			if !ok {
				return nil, false
			}
			bad[i] = bad[i] && fails
		}
	}
	var codes []*yaml.Node
	last := -1
	for i := range bad {
		if !bad[i] {
			codes = append(codes, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(i)})
			last = i
		}
	}
	if len(codes) == len(bad) {
		return nil, true
	}
	if len(codes) > 8 {
		first, _ := strconv.Atoi(codes[0].Value)
		if len(codes) == last-first+1 {
			return yamlnode.Text("{{ " + strconv.Itoa(first) + ".." + strconv.Itoa(last) + " }}"), true
		}
		return nil, false
	}
	out := yamlnode.List(codes...)
	out.Style = yaml.FlowStyle
	return out, true
}

// failsWith evaluates a condition about the exit code of a task.
func failsWith(e *j2.Expr, name string, code int64) (fails, ok bool) {
	isCode := func(e *j2.Expr) bool {
		return e.Op == j2.Attr && e.Text == "rc" && e.Args[0].Op == j2.Name && e.Args[0].Text == name
	}
	switch e.Op {
	case j2.Not:
		fails, ok = failsWith(e.Args[0], name, code)
		return !fails, ok
	case j2.Test:
		if e.Text == "defined" && isCode(e.Args[0]) {
			return !e.Not, true
		}
	case j2.Binary:
		switch e.Text {
		case "and", "or":
			left, ok1 := failsWith(e.Args[0], name, code)
			right, ok2 := failsWith(e.Args[1], name, code)
			if e.Text == "and" {
				return left && right, ok1 && ok2
			}
			return left || right, ok1 && ok2
		}
		if !isCode(e.Args[0]) {
			return false, false
		}
		if e.Text == "in" || e.Text == "not in" {
			if e.Args[1].Op != j2.List {
				return false, false
			}
			found := false
			for _, one := range e.Args[1].Args {
				v, isInt := one.Lit.(int64)
				if !isInt {
					return false, false
				}
				found = found || v == code
			}
			return found == (e.Text == "in"), true
		}
		v, isInt := e.Args[1].Lit.(int64)
		if !isInt {
			return false, false
		}
		switch e.Text {
		case "==":
			return code == v, true
		case "!=":
			return code != v, true
		case ">":
			return code > v, true
		case ">=":
			return code >= v, true
		case "<":
			return code < v, true
		case "<=":
			return code <= v, true
		}
	}
	return false, false
}

// until writes how often a task is tried again.
func (t *task) until(n *yaml.Node) {
	if t.main == nil || t.main.Type == "apply" {
		t.problem("until at tasks that are included")
		return
	}
	name := ""
	if r := t.keywords["register"]; r != nil {
		name = r.Value
	}
	for _, one := range yamlnode.Items(n) {
		e, err := j2.ParseExpr(one.Value)
		if err != nil {
			t.fail(expression.Unknown("until: %v", err))
			return
		}
		for _, part := range expression.Conjuncts(e) {
			if !t.succeeds(part, name) {
				t.problem("until, unless it is about success: write a command that fails until then")
				return
			}
		}
	}
	retries := "3"
	if r := t.keywords["retries"]; r != nil {
		retries = r.Value
	}
	t.numberProperty("retry", retries)
	delay := "5"
	if d := t.keywords["delay"]; d != nil {
		delay = d.Value
	}
	t.durationProperty("delay", delay)
}

// succeeds reports whether a condition says no more than that a task has succeeded.
func (t *task) succeeds(e *j2.Expr, name string) bool {
	of := func(e *j2.Expr, attr string) bool {
		return e.Op == j2.Attr && e.Text == attr && e.Args[0].Op == j2.Name && e.Args[0].Text == name
	}
	switch e.Op {
	case j2.Test:
		x := e.Args[0]
		if e.Text == "defined" && !e.Not && (of(x, "rc") || x.Op == j2.Name && x.Text == name) {
			return true
		}
		if x.Op != j2.Name || x.Text != name {
			return false
		}
		switch e.Text {
		case "succeeded", "success", "successful":
			return !e.Not
		case "failed":
			return e.Not
		}
	case j2.Not:
		return of(e.Args[0], "failed") || e.Args[0].Op == j2.Test && e.Args[0].Text == "failed"
	case j2.Filter:
		return (e.Text == "success" || e.Text == "succeeded") && e.Args[0].Op == j2.Name && e.Args[0].Text == name
	case j2.Binary:
		if e.Text != "==" || t.main.Get("returns") != nil {
			return false
		}
		v, isInt := e.Args[1].Lit.(int64)
		if of(e.Args[0], "status") && isInt && t.main.Type == "http" {
			codes := t.main.Get("status")
			return codes != nil && len(codes.Content) == 1 && codes.Content[0].Value == strconv.FormatInt(v, 10)
		}
		return of(e.Args[0], "rc") && isInt && v == 0 || of(e.Args[0], "failed") && e.Args[1].Lit == false
	}
	return false
}

// numberProperty gives a property that is a number, literal or not.
func (t *task) numberProperty(key, value string) {
	text, err := t.w.Text(value)
	t.fail(err)
	n := yamlnode.Text(text)
	if _, err := strconv.Atoi(text); err == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
	}
	t.main.Set(key, n)
}

// durationProperty gives a property that is a number of seconds.
func (t *task) durationProperty(key, value string) {
	text, err := t.w.Text(value)
	t.fail(err)
	if _, err := strconv.Atoi(text); err == nil && text != "0" {
		text += "s"
	}
	if text != "0" {
		t.main.Set(key, yamlnode.Text(text))
	}
}

func (t *task) async(n *yaml.Node) {
	if poll := t.keywords["poll"]; poll != nil && poll.Value == "0" {
		t.problem("poll: 0: a resource is done when its command has ended")
		return
	}
	if t.main != nil && n.Value != "0" {
		t.durationProperty("timeout", n.Value)
	}
}

func (t *task) timeout(n *yaml.Node) {
	if t.main != nil {
		t.durationProperty("timeout", n.Value)
	}
}

func (t *task) throttle(n *yaml.Node) {
	if t.main == nil || n.Value == "0" {
		return
	}
	text, err := t.w.Text(n.Value)
	t.fail(err)
	name := strings.Join(strings.FieldsFunc(strings.ToLower(t.name), func(r rune) bool { return r < 'a' || r > 'z' }), "-")
	if name == "" {
		name = t.module
	}
	t.main.Set("sema", yamlnode.List(yamlnode.Text(name+":"+text)))
}

// withoutPrograms are types that start no programs to which an environment could matter.
var withoutPrograms = []string{
	"service", "file", "link", "user", "group", "line", "cron", "replace", "ini", "authorized_key", "known_host", "sysctl", "mount", "hostname", "timezone", "kmod", "sudoers", "reboot", "assert", "wait",
}

// environment writes variables of the environment, for commands.
func (t *task) environment(n *yaml.Node) {
	var list []*yaml.Node
	for _, from := range []*yaml.Node{t.around.environment, n} {
		for _, one := range yamlnode.Items(from) {
			if x := expression.SoleExpr(one); x != nil && t.main != nil && t.main.Type == "exec" && len(yamlnode.Items(from)) == 1 && (t.around.environment == nil || n == nil) {
				v, err := t.w.Write(x)
				t.fail(err)
				t.main.SetText("environment", "{{ map(toPairs("+v.Text+"), #[0] + '=' + string(#[1])) }}")
				return
			}
			if one.Kind != yaml.MappingNode {
				if t.main == nil || t.main.Type != "apply" {
					t.problem("an environment that is an expression")
				}
				return
			}
			for i := 0; i+1 < len(one.Content); i += 2 {
				text, err := t.w.Text(one.Content[i+1].Value)
				t.fail(err)
				list = append(list, yamlnode.Text(one.Content[i].Value+"="+text))
			}
		}
	}
	switch {
	case t.main == nil || len(list) == 0:
	case t.main.Type == "exec":
		t.main.Set("environment", yamlnode.List(list...))
	case contains(withoutPrograms, t.main.Type):
		t.note("environment; it means nothing to a resource of type %s", t.main.Type)
	default:
		t.problem("environment at a resource of type %s", t.main.Type)
	}
}

// ignoring puts a task whose errors are ignored into a block that goes on.
func (t *task) ignoring() {
	n := t.keywords["ignore_errors"]
	ignore := t.around.ignore && n == nil
	if n != nil {
		b, ok := yamlnode.BoolOf(n)
		if !ok {
			if e := expression.SoleExpr(n); e != nil && e.Op == j2.Name && e.Text == "ansible_check_mode" {
				return // in a check run nothing fails for what an earlier task has not done
			}
			t.problem("ignore_errors that is an expression")
			return
		}
		ignore = b
	}
	if !ignore || t.main == nil {
		return
	}
	if t.main.Type == "exec" && len(t.entries) == 1 && t.main.Get("returns") == nil {
		t.everyCode()
		return
	}
	if t.keywords["register"] != nil {
		t.note("ignore_errors; a failure is told as rescued")
	}
	block := &layout.Entry{Block: t.entries, Rescue: []*layout.Entry{{Type: "exec", Name: "go on without it", Props: []layout.Property{{Key: "command", Value: yamlnode.Text("true")}, {Key: "readonly", Value: yamlnode.Bool(true)}}}}}
	t.entries = []*layout.Entry{block}
}

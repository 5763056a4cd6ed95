package fromansible

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// carriers are what carries the tasks of a module over, by its name in playbooks/manifest/ansible, where its
// arguments are.
var carriers map[string]func(t *task)

func init() {
	carriers = map[string]func(t *task){
		// commands.go
		"command": commandTask, "raw": commandTask, "shell": commandTask,
		"debug":    debugTask,
		"fail":     failTask,
		"pause":    pauseTask,
		"script":   scriptTask,
		"stat":     statTask,
		"wait_for": waitTask,
		// edits.go
		"assert":         assertTask,
		"authorized_key": keyTask,
		"ini_file":       iniTask,
		"mount":          mountTask,
		"replace":        replaceTask,
		"sysctl":         sysctlTask,
		// files.go
		"blockinfile": blockTask,
		"copy":        copyTask,
		"file":        fileTask,
		"get_url":     downloadTask,
		"lineinfile":  lineTask,
		"template":    templateTask,
		"unarchive":   archiveTask,
		// host.go
		"hostname": namedTask("hostname"), "timezone": namedTask("timezone"),
		"kernel_blacklist": blacklistTask,
		"modprobe":         modprobeTask,
		"reboot":           rebootTask,
		"sudoers":          sudoersTask,
		// includes.go
		"import_role": roleTask, "include_role": roleTask,
		"import_tasks": includeTask, "include": includeTask, "include_tasks": includeTask,
		"include_vars": includeVarsTask,
		"meta":         metaTask,
		"set_fact":     setFactTask,
		// network.go
		"slurp": slurpTask,
		"uri":   uriTask,
		// repositories.go
		"apt_repository": aptRepositoryTask, "deb822_repository": deb822Task, "yum_repository": yumRepositoryTask,
		// system.go
		"apk": packageTask, "apt": packageTask, "dnf": packageTask, "package": packageTask, "pacman": packageTask, "zypper": packageTask,
		"cron":         cronTask,
		"gather_facts": nothingTask, "ping": nothingTask, "setup": nothingTask, "wait_for_connection": nothingTask,
		"git":     gitTask,
		"group":   groupTask,
		"pip":     pipTask,
		"service": serviceTask, "systemd": serviceTask, "sysvinit": serviceTask,
		"user": userTask,
	}
}

// arg is an argument by the first of its names that is given.
func (t *task) arg(names ...string) *yaml.Node {
	for _, name := range names {
		if n := t.args[name]; n != nil && !yamlnode.IsNull(n) {
			return n
		}
	}
	return nil
}

// checkArgs reports arguments that are not carried over.
func (t *task) checkArgs() {
	args := t.hint.Args
	for _, name := range t.order {
		a, known := args[name]
		n := t.args[name]
		switch {
		case n == nil || yamlnode.IsNull(n):
		case !known:
			t.problem("the argument %s of %s", name, t.module)
		case a.Gap != "":
			if b, ok := yamlnode.BoolOf(n); ok && !b { // what is not asked for needs no counterpart
				continue
			}
			if e := expression.SoleExpr(n); e != nil && isOmitted(e) {
				t.note("the argument %s is left out: %s", name, a.Gap)
				continue
			}
			t.problem("the argument %s of %s: %s", name, t.module, a.Gap)
		}
	}
}

// isOmitted reports whether an expression is default(omit).
func isOmitted(e *j2.Expr) bool {
	return e.Op == j2.Filter && (e.Text == "default" || e.Text == "d") && len(e.Args) > 1 && e.Args[1].Op == j2.Name && e.Args[1].Text == "omit"
}

// text is an argument as a text.
func (t *task) text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		t.problem("a value of %s that is no text", t.module)
		return ""
	}
	s, err := t.w.Text(n.Value)
	t.fail(err)
	return s
}

// put writes an argument as a property. default(omit) becomes the value that is not given.
func (t *task) put(e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if x := expression.SoleExpr(n); x != nil && isOmitted(x) {
		v, err := t.w.Write(x.Args[0])
		empty := t.c.emptyOf(e.Type, property)
		if empty == "" {
			t.problem("default(omit) of %s", property)
			return
		}
		t.fail(err)
		e.SetText(property, "{{ "+v.In(expression.Whole)+" ?? "+empty+" }}")
		return
	}
	if x := expression.SoleExpr(n); x != nil && x.Op == j2.Cond && x.Args[2] != nil && x.Args[2].Op == j2.Name && x.Args[2].Text == "omit" {
		t.putCondition(e, property, x)
		return
	}
	v, err := t.w.Value(n)
	t.fail(err)
	if err != nil {
		return
	}
	if t.c.wantsNumber(e.Type, property) && v.Kind == yaml.ScalarNode && digits(v.Value) {
		v = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: v.Value}
	}
	e.Set(property, v)
}

// putCondition writes what is given only under a condition.
func (t *task) putCondition(e *layout.Entry, property string, x *j2.Expr) {
	empty := t.c.emptyOf(e.Type, property)
	if empty == "" {
		t.problem("omit of %s", property)
		return
	}
	condition, err := t.w.Condition(x.Args[0])
	t.fail(err)
	v, err := t.w.Write(x.Args[1])
	t.fail(err)
	e.SetText(property, "{{ "+condition.In(expression.CondPrec+1)+" ? "+v.In(expression.CondPrec+1)+" : "+empty+" }}")
}

// putBool writes an argument that is a boolean of YAML 1.1.
func (t *task) putBool(e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if b, ok := yamlnode.BoolOf(n); ok {
		e.Set(property, yamlnode.Bool(b))
		return
	}
	x := expression.SoleExpr(n)
	if x == nil {
		t.problem("%s: %s", property, n.Value)
		return
	}
	if isOmitted(x) {
		t.put(e, property, n)
		return
	}
	v, err := t.w.Condition(x)
	t.fail(err)
	e.SetText(property, "{{ "+v.Text+" }}")
}

// oneOf writes an argument whose words are called otherwise here.
func (t *task) oneOf(n *yaml.Node, words map[string]string) string {
	if n == nil {
		return ""
	}
	x := expression.SoleExpr(n)
	if x == nil {
		if yamlnode.HasJinja(n) {
			t.problem("%s in %s", expression.Shortened(n.Value), t.module)
			return ""
		}
		to, ok := words[strings.ToLower(n.Value)]
		if !ok {
			t.problem("the state %s of %s", n.Value, t.module)
		}
		return to
	}
	unknown := false
	translated := translate(x, words, &unknown)
	if unknown {
		t.problem("a state of %s that is known only to a host", t.module)
	}
	v, err := t.w.Write(translated)
	t.fail(err)
	return "{{ " + v.Text + " }}"
}

// translate replaces the words that a state may be, where conditions choose one. A variable may hold
// others.
func translate(x *j2.Expr, words map[string]string, unknown *bool) *j2.Expr {
	out := *x
	switch {
	case x.Op == j2.Literal:
		s, isText := x.Lit.(string)
		to, ok := words[s]
		if !isText || !ok || to == "" {
			*unknown = true
			return x
		}
		return &j2.Expr{Op: j2.Literal, Lit: to}
	case x.Op == j2.Cond && x.Args[2] != nil:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	case x.Op == j2.Filter && x.Text == "ternary" && len(x.Args) == 3:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	default:
		*unknown = *unknown || !identical(words)
	}
	return &out
}

// identical reports whether words mean the same here, so that a variable may hold them.
func identical(words map[string]string) bool {
	for theirs, ours := range words {
		if theirs != ours {
			return false
		}
	}
	return true
}

// write adds an entry, which the keywords are about.
func (t *task) write(e *layout.Entry) *layout.Entry {
	if _, known := t.c.o.Types.Lookup(e.Type); !known {
		t.problem("the type %s, which this program does not have", e.Type)
	}
	t.main = e
	t.entries = append(t.entries, t.looped(e))
	if t.isLoop() && !strings.Contains(e.Name, "Item") && !strings.Contains(e.Name, "Outer") {
		t.problem("a loop whose resources would have one name: %s", e.Name)
	}
	return e
}

// extra adds an entry beside the main one.
func (t *task) extra(e *layout.Entry) *layout.Entry {
	if t.isLoop() {
		t.problem("a loop of a task that becomes several resources")
	}
	t.entries = append(t.entries, e)
	return e
}

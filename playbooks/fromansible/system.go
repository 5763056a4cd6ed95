package fromansible

import (
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// emptyOf is the value of a property that means that it is not given; "" if there is none.
func (c *converter) emptyOf(typ, property string) string {
	t, ok := c.o.Types.Lookup(typ)
	if !ok {
		return ""
	}
	v := reflect.ValueOf(t.New()).Elem()
	if v.Kind() != reflect.Struct {
		return ""
	}
	field, ok := fieldCalled(v.Type(), property)
	if !ok {
		return ""
	}
	switch field.Type.Kind() {
	case reflect.String:
		return "''"
	case reflect.Slice:
		return "[]"
	case reflect.Bool:
		return "false"
	}
	return ""
}

// fieldCalled finds the field of a property, also of those that structs are embedded for.
func fieldCalled(t reflect.Type, property string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == property {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// wantsNumber reports whether a property is a number.
func (c *converter) wantsNumber(typ, property string) bool {
	t, ok := c.o.Types.Lookup(typ)
	if !ok {
		return false
	}
	field, ok := fieldCalled(reflect.TypeOf(t.New()).Elem(), property)
	if !ok {
		return false
	}
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of.Kind() >= reflect.Int && of.Kind() <= reflect.Uint64
}

// packageStates are the words of package managers.
var packageStates = map[string]string{"present": "present", "installed": "present", "absent": "absent", "removed": "absent", "latest": "latest", "build-dep": "", "fixed": ""}

func packageTask(t *task) {
	t.checkArgs()
	ensure := t.oneOf(t.arg("state"), packageStates)
	if strings.HasPrefix(ensure, "{{") && len(t.problems) == 1 && strings.HasPrefix(t.problems[0], "a state of ") {
		t.problems = nil // present, absent and latest are the same words, and others are refused
	}
	if ensure == "" {
		ensure = "present"
	}
	valid := t.cacheValid()
	names := t.arg("name", "pkg", "package")
	switch {
	case names == nil && (t.arg("update_cache") != nil):
		t.note("update_cache; lists are fetched when a package needs it: cache_valid")
		t.nothing("lists are fetched when a package needs them: cache_valid")
		return
	case names == nil:
		t.problem("%s without a name", t.module)
		return
	}
	one := func(name, version string) *layout.Entry {
		e := &layout.Entry{Type: "package", Name: name}
		state := ensure
		if version != "" && ensure == "present" {
			state = version
		}
		e.SetText("ensure", state)
		if valid != "" && ensure != "absent" {
			e.SetText("cache_valid", valid)
		}
		return e
	}
	list := yamlnode.Items(names)
	if names.Kind == yaml.ScalarNode && !yamlnode.HasJinja(names) && strings.Contains(names.Value, ",") {
		list = nil
		for _, name := range strings.Split(names.Value, ",") {
			list = append(list, yamlnode.Text(strings.TrimSpace(name)))
		}
	}
	if x := expression.SoleExpr(names); x != nil {
		v, err := t.w.Write(x)
		if err != nil {
			t.fail(err)
			return
		}
		if v.Kind == expression.TextKind || t.isLoop() && v.Kind != expression.ListKind {
			t.write(one("{{ "+v.Text+" }}", ""))
			return
		}
		if t.isLoop() {
			t.problem("a loop over lists of packages")
			return
		}
		each := v.Text
		if v.Kind != expression.ListKind {
			each = "flatten([" + v.Text + "])" // one name or several
		}
		e := one("{{ Item }}", "")
		e.Props = append([]layout.Property{{Key: "each", Value: yamlnode.Text("{{ " + each + " }}")}}, e.Props...)
		t.main = e
		t.entries = append(t.entries, e)
		t.plain = true
		return
	}
	for i, n := range list {
		name, version := t.packageName(n)
		if strings.HasPrefix(name, "@") || strings.HasPrefix(name, "http") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "*<>") {
			t.problem("the package %s: a group, a file or a pattern", name)
			return
		}
		e := one(name, version)
		if i == 0 {
			t.write(e)
		} else {
			t.extra(e)
		}
	}
	if len(list) > 1 && t.keywords["register"] != nil {
		t.problem("register of several packages: write one of them")
	}
}

// packageName takes name=version apart, as apt has it.
func (t *task) packageName(n *yaml.Node) (name, version string) {
	text := t.text(n)
	if x := expression.SoleExpr(n); x != nil {
		return text, ""
	}
	if i := strings.LastIndex(text, "="); i > 0 && t.module == "apt" && !strings.Contains(text[i:], "}}") || i > 0 && t.module == "apt" && strings.HasPrefix(text[i+1:], "{{") {
		name, version = text[:i], text[i+1:]
		if strings.ContainsAny(version, "*") {
			t.problem("a version with a star: %s", text)
		}
		return name, version
	}
	return text, ""
}

func (t *task) cacheValid() string {
	if n := t.arg("cache_valid_time"); n != nil && !yamlnode.HasJinja(n) {
		if seconds, err := strconv.Atoi(n.Value); err == nil && seconds >= 60 {
			return strconv.Itoa(seconds/60) + "m"
		}
	}
	if b, _ := yamlnode.BoolOf(t.arg("update_cache")); b {
		return "1h"
	}
	return ""
}

// nothing is a task that needs no counterpart: a comment says why.
func (t *task) nothing(why string) {
	e := &layout.Entry{Comments: []string{why}}
	t.entries = append(t.entries, e)
	t.plain = true
}

func nothingTask(t *task) {
	if t.keywords["register"] != nil {
		t.problem("the result of the module %s", t.module)
	}
	t.nothing("facts that are mentioned are asked for, and a host that cannot be reached is reported")
}

func serviceTask(t *task) {
	t.checkArgs()
	name := t.arg("name", "service", "unit")
	if name == nil {
		if b, _ := yamlnode.BoolOf(t.arg("daemon_reload", "daemon-reload")); b {
			e := &layout.Entry{Type: "exec", Name: "systemctl daemon-reload"}
			e.Set("refreshonly", yamlnode.Bool(true))
			if !t.handler {
				t.nothing("unit files that have changed are read again by a service")
				return
			}
			t.write(e)
			return
		}
		t.problem("%s without a name", t.module)
		return
	}
	e := &layout.Entry{Type: "service", Name: t.text(name)}
	state := t.arg("state")
	switch {
	case state == nil:
		if t.arg("enabled") == nil && t.arg("masked") == nil {
			t.nothing("unit files that have changed are read again by a service")
			return
		}
		t.enabled(e.Name)
		return
	case yamlnode.HasJinja(state):
		x := expression.SoleExpr(state)
		if x != nil {
			words := map[string]string{"started": "running", "stopped": "stopped", "restarted": "", "reloaded": ""}
			unknown := false
			translated := translate(x, words, &unknown)
			if unknown {
				t.problem("a state of a service that is a variable: write running or stopped")
			}
			v, err := t.w.Write(translated)
			t.fail(err)
			e.SetText("ensure", "{{ "+v.Text+" }}")
			break
		}
		t.problem("the state %s of a service", expression.Shortened(state.Value))
	case state.Value == "started" || state.Value == "running":
		e.SetText("ensure", "running")
	case state.Value == "stopped":
		e.SetText("ensure", "stopped")
	case (state.Value == "restarted" || state.Value == "reloaded") && t.handler:
		e.SetText("ensure", "running")
		if state.Value == "reloaded" {
			e.Set("reload", yamlnode.Bool(true))
		}
	case state.Value == "restarted" || state.Value == "reloaded":
		t.restart(map[string]string{"restarted": "restart", "reloaded": "reload"}[state.Value], e.Name)
		return
	default:
		t.problem("the state %s of a service", state.Value)
	}
	t.putBool(e, "enable", t.arg("enabled"))
	t.putBool(e, "masked", t.arg("masked"))
	t.write(e)
}

// enabled is a service of which only is said whether it is started at boot: the type says more.
func (t *task) enabled(name string) {
	enable, ok := yamlnode.BoolOf(t.arg("enabled"))
	if !ok || t.arg("masked") != nil {
		t.problem("a service without state: it is either running or stopped here")
		return
	}
	verb, guard := "enable ", "unless"
	if !enable {
		verb, guard = "disable ", "onlyif"
	}
	e := &layout.Entry{Type: "exec", Name: "systemctl " + verb + name}
	e.SetText(guard, "systemctl is-enabled --quiet "+name)
	t.write(e)
}

// restart is a task that restarts a service whenever it runs.
func (t *task) restart(verb, name string) {
	for _, key := range []string{"enabled", "masked"} {
		if t.arg(key) != nil {
			t.problem("a service that is restarted in each run, and %s", key)
		}
	}
	e := &layout.Entry{Type: "exec", Name: "systemctl " + verb + " " + name}
	t.note("a service that is %sed in each run: subscribe would do it when something has changed", verb)
	t.write(e)
}

func userTask(t *task) {
	t.checkArgs()
	n := t.arg("name", "user")
	if n == nil {
		t.problem("user without a name")
		return
	}
	e := &layout.Entry{Type: "user", Name: t.text(n)}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" {
		e.SetText("ensure", state)
	}
	for _, key := range []string{"uid", "comment", "shell", "home", "group"} {
		t.put(e, key, t.arg(key))
		if v := e.Get(key); key == "home" && v != nil && len(v.Value) > 1 {
			v.Value = strings.TrimRight(v.Value, "/")
		}
	}
	if n := t.arg("groups"); n != nil {
		switch {
		case n.Kind == yaml.SequenceNode || yamlnode.HasJinja(n) && !strings.Contains(n.Value, ","):
			t.put(e, "groups", n)
		case yamlnode.HasJinja(n):
			t.problem("groups with expressions and commas: write a list")
		default:
			list := yamlnode.Texts(tagNames(n)...)
			list.Style = yaml.FlowStyle
			e.Set("groups", list)
		}
	}
	for property, n := range map[string]*yaml.Node{"append": t.arg("append"), "system": t.arg("system"), "create_home": t.arg("create_home", "createhome"), "password_lock": t.arg("password_lock"), "remove_home": t.arg("remove")} {
		if b, ok := yamlnode.BoolOf(n); ok && !b && property != "create_home" && property != "password_lock" {
			continue
		}
		t.putBool(e, property, n)
	}
	if n := t.arg("password"); n != nil {
		t.put(e, "password_hash", n)
		if !yamlnode.HasJinja(n) && !strings.HasPrefix(n.Value, "$") && !strings.HasPrefix(n.Value, "!") && n.Value != "*" && n.Tag != "!vault" {
			t.problem("a password that is no hash")
		}
	}
	sortProperties(e)
	t.write(e)
}

// sortProperties puts properties that come out of a map into an order.
func sortProperties(e *layout.Entry) {
	order := []string{"each", "ensure", "uid", "gid", "system", "comment", "shell", "home", "create_home", "group", "groups", "append", "password_hash", "password_lock", "remove_home"}
	rank := func(key string) int {
		for i, k := range order {
			if k == key {
				return i
			}
		}
		return len(order)
	}
	for i := 1; i < len(e.Props); i++ {
		for j := i; j > 0 && rank(e.Props[j].Key) < rank(e.Props[j-1].Key); j-- {
			e.Props[j], e.Props[j-1] = e.Props[j-1], e.Props[j]
		}
	}
}

func groupTask(t *task) {
	t.checkArgs()
	n := t.arg("name")
	if n == nil {
		t.problem("group without a name")
		return
	}
	e := &layout.Entry{Type: "group", Name: t.text(n)}
	state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"})
	if state == "" {
		state = "present"
	}
	e.SetText("ensure", state)
	t.put(e, "gid", t.arg("gid"))
	if b, ok := yamlnode.BoolOf(t.arg("system")); !ok || b {
		t.putBool(e, "system", t.arg("system"))
	}
	t.write(e)
}

func cronTask(t *task) {
	t.checkArgs()
	n := t.arg("name")
	if n == nil {
		t.problem("cron without a name")
		return
	}
	e := &layout.Entry{Type: "cron", Name: t.text(n)}
	if state := t.oneOf(t.arg("state"), map[string]string{"present": "present", "absent": "absent"}); state == "absent" {
		e.SetText("ensure", "absent")
	} else if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.put(e, "command", t.arg("job"))
	for _, key := range []string{"user", "minute", "hour", "day", "month", "weekday"} {
		n := t.arg(key, map[string]string{"day": "dom", "weekday": "dow"}[key])
		if n != nil && key != "user" {
			e.SetText(key, t.text(n))
			continue
		}
		t.put(e, key, n)
	}
	if n := t.arg("special_time"); n != nil {
		e.SetText("special", "@"+strings.TrimPrefix(t.text(n), "@"))
	}
	if b, ok := yamlnode.BoolOf(t.arg("disabled")); !ok || b {
		t.putBool(e, "disabled", t.arg("disabled"))
	}
	t.write(e)
}

func pipTask(t *task) {
	t.checkArgs()
	venv := t.arg("virtualenv")
	names := t.arg("name")
	if names == nil {
		t.problem("pip without a name")
		return
	}
	state := "present"
	if n := t.arg("state"); n != nil {
		state = n.Value
	}
	if state != "present" {
		t.problem("pip with the state %s", state)
	}
	program := "pip3"
	if n := t.arg("executable"); n != nil {
		program = t.text(n)
	}
	if venv != nil {
		place := t.place(venv)
		program = place + "/bin/pip"
		python := "python3"
		if n := t.arg("virtualenv_python"); n != nil {
			python = t.text(n)
		}
		make := &layout.Entry{Type: "exec", Name: python + " -m venv " + place}
		make.SetText("creates", place+"/bin/pip")
		if t.isLoop() {
			t.problem("a loop of pip that makes a virtualenv")
		}
		t.entries = append(t.entries, make)
	}
	extra := ""
	if n := t.arg("extra_args"); n != nil {
		extra = " " + t.text(n)
	}
	list := yamlnode.Items(names)
	if len(list) > 1 && t.isLoop() || len(list) == 1 && expression.SoleExpr(list[0]) != nil && !t.isLoop() && t.kindOfExpr(expression.SoleExpr(list[0])) != expression.TextKind {
		t.problem("pip with a list of names that is a variable")
		return
	}
	for i, n := range list {
		name := t.text(n)
		short, _, _ := strings.Cut(strings.NewReplacer(">", "=", "<", "=", "~", "=", "!", "=").Replace(name), "=")
		short, _, _ = strings.Cut(short, "[")
		want := name
		version := t.arg("version")
		if version != nil {
			want = name + "==" + t.text(version)
		}
		e := &layout.Entry{Type: "exec", Name: program + " install" + extra + " '" + want + "'"}
		pin := strings.Contains(want, "==")
		check := program + " show -q " + short
		if pin {
			_, v, _ := strings.Cut(want, "==")
			check = program + " show " + short + " | grep -qx 'Version: " + v + "'"
			e.Set("unless", yamlnode.Text("sh -c \""+check+"\""))
		} else if strings.ContainsAny(want, "<>~!") {
			t.problem("pip with a range of versions: %s", want)
		} else {
			e.SetText("unless", check)
		}
		if i == 0 {
			t.write(e)
		} else {
			t.extra(e)
		}
	}
}

func (t *task) kindOfExpr(e *j2.Expr) expression.Kind {
	v, err := t.w.Write(e)
	if err != nil {
		return expression.AnyKind
	}
	return v.Kind
}

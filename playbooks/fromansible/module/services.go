package module

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// verbs maps the states of a handler to actions of an event.
var verbs = map[string]string{"started": "start", "running": "start", "stopped": "stop", "restarted": "restart", "reloaded": "reload"}

func serviceTask(t *task.Task) {
	name := t.Arg("name", "service", "unit")
	if name == nil {
		if b, _ := yamlnode.BoolOf(t.Arg("daemon_reload", "daemon-reload")); b {
			e := &layout.Entry{Type: "exec", Name: "systemctl daemon-reload"}
			e.Set("refreshonly", yamlnode.Bool(true))
			if !t.IsHandler {
				t.Nothing("unit files that have changed are read again by a service")
				return
			}
			t.Write(e)
			return
		}
		t.Problem("%s without a name", t.Module)
		return
	}
	e := &layout.Entry{Type: "service", Name: t.Text(name)}
	state := t.Arg("state")
	switch {
	case state == nil:
		if t.Arg("enabled") == nil && t.Arg("masked") == nil {
			t.Nothing("unit files that have changed are read again by a service")
			return
		}
		enabled(t, e.Name)
		return
	case t.IsHandler && verbs[state.Value] != "":
		e.Event = verbs[state.Value]
		for _, key := range []string{"enabled", "masked"} {
			if t.Arg(key) != nil {
				t.Problem("%s of a handler", key)
			}
		}
	case yamlnode.HasJinja(state):
		e.SetText("ensure", t.OneOf(state, map[string]string{"started": "running", "stopped": "stopped", "restarted": "", "reloaded": ""}))
	case state.Value == "started" || state.Value == "running":
		e.SetText("ensure", "running")
	case state.Value == "stopped":
		e.SetText("ensure", "stopped")
	case state.Value == "restarted" || state.Value == "reloaded":
		restart(t, map[string]string{"restarted": "restart", "reloaded": "reload"}[state.Value], e.Name)
		return
	default:
		t.Problem("the state %s of a service", state.Value)
	}
	t.PutBool(e, "enable", t.Arg("enabled"))
	t.PutBool(e, "masked", t.Arg("masked"))
	t.Write(e)
}

// enabled writes a command for a service without state: the type has running or stopped.
func enabled(t *task.Task, name string) {
	if t.Arg("masked") != nil {
		t.Problem("a service without state: it is either running or stopped here")
		return
	}
	enable, ok := yamlnode.BoolOf(t.Arg("enabled"))
	if x := expression.SoleExpr(t.Arg("enabled")); !ok && x != nil {
		condition, err := t.W.Condition(x)
		t.Fail(err)
		choose := func(yes, no string) string {
			return "{{ " + condition.In(expression.CondPrec+1) + " ? '" + yes + "' : '" + no + "' }}"
		}
		e := &layout.Entry{Type: "exec", Name: "systemctl " + choose("enable", "disable") + " " + name}
		e.SetText("unless", "sh -c 'systemctl is-enabled --quiet "+name+"; test $? "+choose("-eq", "-ne")+" 0'")
		t.Write(e)
		return
	}
	verb, guard := "enable ", "unless"
	if !enable {
		verb, guard = "disable ", "onlyif"
	}
	e := &layout.Entry{Type: "exec", Name: "systemctl " + verb + name}
	e.SetText(guard, "systemctl is-enabled --quiet "+name)
	t.Write(e)
}

// restart is a task that restarts a service whenever it runs.
func restart(t *task.Task, verb, name string) {
	for _, key := range []string{"enabled", "masked"} {
		if t.Arg(key) != nil {
			t.Problem("a service that is restarted in each run, and %s", key)
		}
	}
	e := &layout.Entry{Type: "exec", Name: "systemctl " + verb + " " + name}
	t.Note("a service that is %sed in each run: subscribe would do it when something has changed", verb)
	t.Write(e)
}

func cronTask(t *task.Task) {
	n := t.Arg("name")
	if n == nil {
		t.Problem("cron without a name")
		return
	}
	e := &layout.Entry{Type: "cron", Name: t.Text(n)}
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state == "absent" {
		e.SetText("ensure", "absent")
	} else if state != "" && state != "present" {
		e.SetText("ensure", state)
	}
	t.Put(e, "command", t.Arg("job"))
	for _, key := range []string{"user", "minute", "hour", "day", "month", "weekday"} {
		n := t.Arg(key, map[string]string{"day": "dom", "weekday": "dow"}[key])
		if x := expression.SoleExpr(n); n != nil && key != "user" && (x == nil || !task.IsOmitted(x)) {
			e.SetText(key, t.Text(n))
			continue
		}
		t.Put(e, key, n)
	}
	if x := expression.SoleExpr(t.Arg("special_time")); x != nil && task.IsOmitted(x) {
		v, err := t.W.Write(x.Args[0])
		t.Fail(err)
		given := v.In(expression.Whole) + " ?? ''"
		e.SetText("special", "{{ ("+given+") == '' ? '' : '@' + trimPrefix("+given+", '@') }}")
	} else if n := t.Arg("special_time"); n != nil {
		e.SetText("special", "@"+strings.TrimPrefix(t.Text(n), "@"))
	}
	if b, ok := yamlnode.BoolOf(t.Arg("disabled")); !ok || b {
		t.PutBool(e, "disabled", t.Arg("disabled"))
	}
	t.Write(e)
}

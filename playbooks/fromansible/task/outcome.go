package task

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// allCodes are all exit codes.
const allCodes = "{{ 0..255 }}"

// changedWhen has a command that is never a change be one that only looks.
func changedWhen(t *Task, n *yaml.Node) {
	if t.Main == nil {
		return
	}
	b, literal := yamlnode.BoolOf(n)
	isExec := t.Main.Type == "exec"
	switch {
	case isExec && literal && !b:
		if t.Main.Get("creates") != nil {
			return
		}
		t.Main.Set("readonly", yamlnode.Bool(true))
		if c := t.Keywords["check_mode"]; c == nil {
			t.Note("changed_when: false; it runs in check runs, too")
		}
	case literal && b:
	case t.Keywords["notify"] != nil || t.Keywords["register"] != nil && askedChanged(t):
		t.Problem("changed_when that others depend on: a guard (onlyif, unless, creates) decides it beforehand")
	case isExec:
		t.Note("changed_when; it is told as changed each time it runs")
	default:
		t.Note("changed_when; whether it is changed is what the host shows")
	}
}

// askedChanged reports whether anything of the role asks if the task has changed something.
func askedChanged(t *Task) bool {
	name := t.Keywords["register"].Value
	return t.File.Mentions(name+".changed") || t.File.Mentions(name+" is changed") || t.File.Mentions(name+"|changed") || t.File.Mentions(name+" | changed")
}

// until writes how often a task is tried again.
func until(t *Task, n *yaml.Node) {
	if t.Main == nil || t.Main.Type == "apply" {
		t.Problem("until at tasks that are included")
		return
	}
	name := ""
	if r := t.Keywords["register"]; r != nil {
		name = r.Value
	}
	for _, one := range yamlnode.Items(n) {
		e, err := j2.ParseExpr(one.Value)
		if err != nil {
			t.Fail(expression.Unknown("until: %v", err))
			return
		}
		for _, part := range expression.Conjuncts(e) {
			if !succeeds(t, part, name) {
				t.Problem("until, unless it is about success: write a command that fails until then")
				return
			}
		}
	}
	retries := "3"
	if r := t.Keywords["retries"]; r != nil {
		retries = r.Value
	}
	setNumber(t, "retry", retries)
	delay := "5"
	if d := t.Keywords["delay"]; d != nil {
		delay = d.Value
	}
	t.SetDuration("delay", delay)
}

// succeeds reports whether a condition says no more than that a task has succeeded.
func succeeds(t *Task, e *j2.Expr, name string) bool {
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
		if e.Text != "==" || t.Main.Get("returns") != nil {
			return false
		}
		v, isInt := e.Args[1].Lit.(int64)
		if of(e.Args[0], "status") && isInt && t.Main.Type == "http" {
			codes := t.Main.Get("status")
			return codes != nil && len(codes.Content) == 1 && codes.Content[0].Value == strconv.FormatInt(v, 10)
		}
		return of(e.Args[0], "rc") && isInt && v == 0 || of(e.Args[0], "failed") && e.Args[1].Lit == false
	}
	return false
}

// ignoring puts a task whose errors are ignored into a block that goes on.
func ignoring(t *Task) {
	n := t.Keywords["ignore_errors"]
	ignore := t.Around.Ignore && n == nil
	if n != nil {
		b, ok := yamlnode.BoolOf(n)
		if !ok {
			if e := expression.SoleExpr(n); e != nil && e.Op == j2.Name && e.Text == "ansible_check_mode" {
				return // in a check run nothing fails for what an earlier task has not done
			}
			t.Problem("ignore_errors that is an expression")
			return
		}
		ignore = b
	}
	if !ignore || t.Main == nil {
		return
	}
	if t.Main.Type == "exec" && len(t.Entries) == 1 && t.Main.Get("returns") == nil {
		everyCode(t)
		return
	}
	if t.Keywords["register"] != nil {
		t.Note("ignore_errors; a failure is told as rescued")
	}
	block := &layout.Entry{Block: t.Entries, Rescue: []*layout.Entry{{Type: "exec", Name: "go on without it", Props: []layout.Property{{Key: "command", Value: yamlnode.Text("true")}, {Key: "readonly", Value: yamlnode.Bool(true)}}}}}
	t.Entries = []*layout.Entry{block}
}

func async(t *Task, n *yaml.Node) {
	if poll := t.Keywords["poll"]; poll != nil && poll.Value == "0" {
		t.Problem("poll: 0: a resource is done when its command has ended")
		return
	}
	if t.Main != nil && n.Value != "0" {
		t.SetDuration("timeout", n.Value)
	}
}

func timeout(t *Task, n *yaml.Node) {
	if t.Main != nil {
		t.SetDuration("timeout", n.Value)
	}
}

// numberProperty gives a property that is a number, literal or not.
func setNumber(t *Task, key, value string) {
	text, err := t.W.Text(value)
	t.Fail(err)
	n := yamlnode.Text(text)
	if _, err := strconv.Atoi(text); err == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
	}
	t.Main.Set(key, n)
}

// durationProperty gives a property that is a number of seconds.
func (t *Task) SetDuration(key, value string) {
	text, err := t.W.Text(value)
	t.Fail(err)
	if _, err := strconv.Atoi(text); err == nil && text != "0" {
		text += "s"
	}
	if text != "0" {
		t.Main.Set(key, yamlnode.Text(text))
	}
}

// failedWhen writes which exit codes are a success.
func failedWhen(t *Task, n *yaml.Node) {
	if b, ok := yamlnode.BoolOf(n); ok {
		switch {
		case b:
			t.Problem("failed_when: true")
		case t.Main != nil && t.Main.Type == "exec":
			everyCode(t)
		default:
			t.Keywords["ignore_errors"] = yamlnode.Bool(true)
		}
		return
	}
	if t.Main == nil || t.Main.Type != "exec" || t.Keywords["register"] == nil {
		t.Problem("failed_when of the module %s", t.Module)
		return
	}
	codes, ok := codes(t, n)
	if !ok {
		t.Problem("failed_when, unless it is about exit codes: write register, and an exec with control that fails")
		return
	}
	if codes == nil {
		everyCode(t)
		return
	}
	t.Main.Set("returns", codes)
}

func everyCode(t *Task) {
	t.Main.SetText("returns", allCodes)
	if t.Result != nil {
		t.Result.Lax = true
	}
}

// codes reads x.rc != 0 and x.rc != 2, x.rc not in [0, 2], x.rc > 1 and x.rc == 1.
func codes(t *Task, n *yaml.Node) (*yaml.Node, bool) {
	name := t.Keywords["register"].Value
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

package module

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// packageStates are the words of package managers.
var packageStates = map[string]string{"present": "present", "installed": "present", "absent": "absent", "removed": "absent", "latest": "latest", "build-dep": "", "fixed": ""}

func packageTask(t *task.Task) {
	ensure := t.OneOf(t.Arg("state"), packageStates)
	if strings.HasPrefix(ensure, "{{") && len(t.Problems) == 1 && strings.HasPrefix(t.Problems[0], "a state of ") {
		t.Problems = nil // present, absent and latest are the same words, and others are refused
	}
	if ensure == "" {
		ensure = "present"
	}
	valid := cacheValid(t)
	names := t.Arg("name", "pkg", "package")
	if upgradeTask(t, names, ensure, valid) {
		return
	}
	if file := t.Arg("deb"); file != nil && names == nil {
		if yamlnode.HasJinja(file) {
			t.Problem("the file %s: write the name of its package, with path or source", file.Value)
			return
		}
		names = file
	}
	switch {
	case names == nil && (t.Arg("update_cache") != nil):
		*t.Fetched = valid
		t.Nothing("lists are fetched when a package needs them: cache_valid")
		return
	case names == nil:
		t.Problem("%s without a name", t.Module)
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
		v, err := t.W.Write(x)
		if err != nil {
			t.Fail(err)
			return
		}
		if v.Kind == expression.TextKind || t.IsLoop() && v.Kind != expression.ListKind {
			t.Write(one("{{ "+v.Text+" }}", ""))
			return
		}
		if t.IsLoop() {
			t.Problem("a loop over lists of packages")
			return
		}
		each := v.Text
		if v.Kind != expression.ListKind {
			each = "flatten([" + v.Text + "])" // one name or several
		}
		e := one("{{ Item }}", "")
		e.Props = append([]layout.Property{{Key: "each", Value: yamlnode.Text("{{ " + each + " }}")}}, e.Props...)
		t.Main = e
		t.Entries = append(t.Entries, e)
		t.Plain = true
		return
	}
	for i, n := range list {
		name, version := packageName(t, n)
		file := ""
		if m := packageFile().FindStringSubmatch(name); m != nil {
			file, name, version = name, m[1]+m[3], m[2]+m[4]
		}
		if strings.HasPrefix(name, "http") {
			t.Problem("the package %s: write source with its URL, and the checksum of what is there", name)
			return
		}
		if strings.HasPrefix(name, "@") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "*<>") {
			t.Problem("the package %s: a group, a file or a pattern", name)
			return
		}
		e := one(name, version)
		if file != "" && ensure != "absent" {
			e.SetText("path", file)
		}
		if i == 0 {
			t.Write(e)
		} else {
			t.Extra(e)
		}
	}
	if len(list) > 1 && t.Keywords["register"] != nil {
		t.Problem("register of several packages: write one of them")
	}
}

// upgrades are the words of apt, and the booleans of others, for an upgrade: whether packages may be removed for it.
var upgrades = map[string]bool{"dist": true, "full": true, "yes": false, "safe": false, "true": false}

// upgradeTask carries over a task that brings all packages up to date, if it is one: upgrade of apt and its like, and
// the name '*' of dnf and zypper.
func upgradeTask(t *task.Task, names *yaml.Node, ensure, valid string) bool {
	upgrade, security, only := t.Arg("upgrade"), t.Arg("security"), t.Arg("update_only")
	all := names != nil && len(yamlnode.Items(names)) == 1 && yamlnode.Items(names)[0].Value == "*" && ensure == "latest"
	e := &layout.Entry{Type: "upgrade", Name: "all"}
	word := ""
	if upgrade != nil {
		word = strings.ToLower(upgrade.Value)
	}
	removals, wanted := upgrades[word]
	switch {
	case upgrade != nil && yamlnode.HasJinja(upgrade):
		t.Problem("whether all is upgraded is an expression")
	case wanted && names != nil:
		t.Problem("upgrade together with names: write two tasks")
	case wanted || all:
		if secure, known := yamlnode.BoolOf(security); secure {
			e.Name = "security"
		} else if security != nil && !known {
			t.Problem("whether only security updates are wanted is an expression")
		}
		if removals || all && t.Module == "dnf" { // by what takes the places of others
			e.Set("removals", yamlnode.Bool(true))
		}
		if valid != "" {
			e.SetText("cache_valid", valid)
		}
		t.Write(e)
		return true
	default:
		if secure, _ := yamlnode.BoolOf(security); secure {
			t.Problem("security of single packages: write '*', or their versions")
		}
		if b, _ := yamlnode.BoolOf(only); b {
			t.Problem("update_only of single packages: a package is installed")
		}
		return false
	}
	return true
}

// packageFile is a file of the host with a package, called as the tools that build packages call it.
var packageFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/(?:[^/]+/)*(?:([^/_{}]+)_([^/_{}]+)_[^/_{}]+\.deb|([^/{}]+)-([^-/{}]+-[^-/{}]+)\.[^./{}-]+\.rpm)$`)
})

// packageBound is a name with a bound for its version, as dnf and apt have it: nginx >= 1.2.
var packageBound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._+-]*) *([<>]=?) *([A-Za-z0-9][A-Za-z0-9._+:~^-]*)$`)
})

// packageName takes name=version apart, as apt has it, and bounds.
func packageName(t *task.Task, n *yaml.Node) (name, version string) {
	text := t.Text(n)
	if x := expression.SoleExpr(n); x != nil {
		return text, ""
	}
	if bound := packageBound().FindStringSubmatch(text); bound != nil {
		return bound[1], bound[2] + " " + bound[3]
	}
	if i := strings.LastIndex(text, "="); i > 0 && t.Module == "apt" && !strings.Contains(text[i:], "}}") || i > 0 && t.Module == "apt" && strings.HasPrefix(text[i+1:], "{{") {
		name, version = text[:i], text[i+1:]
		if strings.ContainsAny(version, "*") {
			t.Problem("a version with a star: %s", text)
		}
		return name, version
	}
	return text, ""
}

func cacheValid(t *task.Task) string {
	if n := t.Arg("cache_valid_time"); n != nil && !yamlnode.HasJinja(n) {
		if seconds, err := strconv.Atoi(n.Value); err == nil && seconds >= 60 {
			return strconv.Itoa(seconds/60) + "m"
		}
	}
	if b, _ := yamlnode.BoolOf(t.Arg("update_cache")); b {
		return "1h"
	}
	return t.Cache
}

// debconfTask is a task that answers a question of a package. Without a question it only looks.
func debconfTask(t *task.Task) {
	question, vtype, value := t.Arg("question", "setting", "selection"), t.Arg("vtype"), t.Arg("value", "answer")
	name := t.Arg("name", "pkg")
	e := &layout.Entry{Type: "debconf", Name: t.Text(question)}
	t.Put(e, "package", name)
	switch {
	case question == nil && t.Keywords["register"] == nil:
		t.Nothing("nothing is answered")
		return
	case question == nil:
		t.Problem("the questions that a package has asked")
		return
	case vtype == nil, yamlnode.HasJinja(vtype), vtype.Value == "seen", vtype.Value == "error":
		t.Problem("debconf without a type, or with one that is not known: write type and value, or password")
	case vtype.Value == "password":
		t.Put(e, "password", value)
	default:
		t.Put(e, "type", vtype)
		if b, isBool := yamlnode.BoolOf(value); isBool && vtype.Value == "boolean" {
			e.SetText("value", strconv.FormatBool(b))
		} else {
			t.Put(e, "value", value)
		}
	}
	if unseen, known := yamlnode.BoolOf(t.Arg("unseen")); unseen && known {
		e.Set("seen", yamlnode.Bool(false))
	}
	t.Write(e)
}

// holdTask is a task that puts packages on hold, or takes them off it: an argument says which.
func holdTask(argument string, words map[string]string) func(t *task.Task) {
	return func(t *task.Task) {
		names := t.Arg("name")
		if names == nil {
			t.Problem("%s without a name", t.Module)
			return
		}
		state := "true"
		if n := t.Arg(argument); n != nil {
			state = t.OneOf(n, words)
		}
		for i, name := range yamlnode.Items(names) {
			e := &layout.Entry{Type: "package", Name: t.Text(name)}
			if state == "true" || state == "false" {
				e.Set("hold", yamlnode.Bool(state == "true"))
			} else {
				t.Problem("whether a package is held is an expression")
			}
			if i == 0 {
				t.Write(e)
			} else {
				t.Extra(e)
			}
		}
	}
}

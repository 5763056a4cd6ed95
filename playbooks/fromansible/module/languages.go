package module

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// pipTask is a task about packages of Python.
func pipTask(t *task.Task) {
	like := &layout.Entry{Type: "package"}
	like.SetText("provider", "pip")
	if n := t.Arg("virtualenv"); n != nil {
		like.SetText("virtualenv", t.Place(n))
	}
	if python := pipPython(t); python != "" {
		like.SetText("python", python)
	}
	ensure := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent", "latest": "latest", "forcereinstall": ""})
	for _, argument := range []string{"editable", "virtualenv_site_packages"} {
		if b, known := yamlnode.BoolOf(t.Arg(argument)); t.Arg(argument) != nil && (b || !known) {
			t.Problem("pip with %s", argument)
		}
	}
	if t.Arg("requirements") != nil {
		t.Problem("pip with a list of requirements: write its packages, or an exec")
		return
	}
	t.PutBool(like, "break_system_packages", t.Arg("break_system_packages"))
	ensure = pipOptions(t, like, ensure)
	languagePackages(t, like, t.Arg("name"), ensure, t.Arg("version"))
}

// pipPython is the Python that is meant by the program that is called; "" is python3.
func pipPython(t *task.Task) string {
	if n := t.Arg("virtualenv_python"); n != nil {
		return t.Text(n)
	}
	if n := t.Arg("virtualenv_command"); n != nil {
		text := t.Text(n)
		if python, found := strings.CutSuffix(text, " -m venv"); found && !strings.Contains(python, " ") {
			return strings.TrimPrefix(python, "/usr/bin/")
		}
		if base := path.Base(text); base != "virtualenv" && base != "pyvenv" && base != "virtualenv-3" {
			t.Problem("pip with the virtualenv_command %s: a virtualenv is made by python -m venv", text)
		}
	}
	n := t.Arg("executable")
	if n == nil {
		return ""
	}
	text := t.Text(n)
	program := pipProgram().FindStringSubmatch(text)
	switch {
	case program == nil:
		t.Problem("pip with the executable %s: write python", text)
		return ""
	case program[1] == "" && (program[2] == "" || program[2] == "3"):
		return ""
	}
	return program[1] + "python" + program[2]
}

// pipProgram is what pip is called, of one Python or of another.
var pipProgram = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*/)?pip-?([0-9.]*)$`) })

// longOptions are options of pip that are written with one letter.
var longOptions = map[string]string{"-c": "--constraint", "-f": "--find-links", "-i": "--index-url", "-U": "--upgrade", "-q": "--quiet", "-v": "--verbose"}

// pipOptions writes extra_args, and gives what ensure is to be with them.
func pipOptions(t *task.Task, e *layout.Entry, ensure string) string {
	n := t.Arg("extra_args")
	if n == nil {
		return ensure
	}
	if yamlnode.HasJinja(n) && expression.SoleExpr(n) != nil {
		t.Problem("pip with extra_args that are an expression: write options")
		return ensure
	}
	var options []*yaml.Node
	words := strings.Fields(t.Text(n))
	for i := 0; i < len(words); i++ {
		option, value, hasValue := strings.Cut(words[i], "=")
		if long := longOptions[option]; long != "" {
			option = long
		}
		if !hasValue && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value, hasValue = words[i], true
		}
		switch option {
		case "--index-url":
			e.SetText("index", value)
			continue
		case "--break-system-packages":
			e.Set("break_system_packages", yamlnode.Bool(true))
			continue
		case "--upgrade":
			if ensure == "" || ensure == "present" {
				ensure = "latest"
			}
			continue
		case "--quiet", "--verbose":
			continue
		}
		if !strings.HasPrefix(option, "-") || option == "--user" {
			t.Problem("pip with the argument %s", option)
		}
		if hasValue {
			option += "=" + value
		}
		options = append(options, yamlnode.Text(option))
	}
	if len(options) > 0 {
		e.Set("options", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: options})
	}
	return ensure
}

// npmTask is a task about packages of Node.js.
func npmTask(t *task.Task) {
	like := &layout.Entry{Type: "package"}
	like.SetText("provider", "npm")
	global, known := yamlnode.BoolOf(t.Arg("global"))
	switch {
	case t.Arg("global") != nil && !known:
		t.Problem("npm with global that is an expression")
	case !global && t.Arg("path") == nil:
		t.Problem("npm without path, and not global")
		return
	case !global:
		like.SetText("directory", t.Place(t.Arg("path")))
	}
	if t.Arg("name") == nil {
		t.Problem("npm without a name: write the packages of package.json, or an exec of npm ci")
		return
	}
	t.Put(like, "index", t.Arg("registry"))
	var options []*yaml.Node
	for _, o := range [][2]string{
		{"ignore_scripts", "--ignore-scripts"}, {"production", "--omit=dev"}, {"no_optional", "--omit=optional"}, {"no_bin_links", "--no-bin-links"}, {"force", "--force"},
	} {
		b, known := yamlnode.BoolOf(t.Arg(o[0]))
		switch {
		case t.Arg(o[0]) != nil && !known:
			t.Problem("npm with %s that is an expression", o[0])
		case b:
			options = append(options, yamlnode.Text(o[1]))
		}
	}
	if len(options) > 0 {
		like.Set("options", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: options})
	}
	ensure := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent", "latest": "latest"})
	languagePackages(t, like, t.Arg("name"), ensure, t.Arg("version"))
}

// languagePackages writes an entry for each name, with the properties of one.
func languagePackages(t *task.Task, like *layout.Entry, names *yaml.Node, ensure string, version *yaml.Node) {
	if names == nil {
		t.Problem("%s without a name", t.Module)
		return
	}
	one := func(name, within string) *layout.Entry {
		e := &layout.Entry{Type: like.Type, Name: name}
		if within == "" && version != nil {
			within = t.Text(version)
		}
		switch {
		case within != "" && ensure != "absent":
			e.SetText("ensure", within)
		case ensure != "" && ensure != "present":
			e.SetText("ensure", ensure)
		}
		e.Props = append(e.Props, like.Props...)
		return e
	}
	list := yamlnode.Items(names)
	if x := expression.SoleExpr(names); x != nil {
		kind := kindOfExpr(t, x)
		switch {
		case kind == expression.TextKind || t.IsLoop() && kind != expression.ListKind:
			for _, item := range yamlnode.Items(task.Each(t)) {
				if strings.ContainsAny(item.Value, "=<>~!") && !yamlnode.HasJinja(item) {
					t.Problem("a loop over names with versions: write ensure")
					return
				}
			}
			t.Write(one(t.Text(names), ""))
		case t.IsLoop():
			t.Problem("a loop over lists of packages")
		default:
			text := strings.TrimSuffix(strings.TrimPrefix(t.Text(names), "{{ "), " }}")
			if kind != expression.ListKind {
				text = "flatten([" + text + "])" // one name or several
			}
			e := one("{{ Item }}", "")
			e.Props = append([]layout.Property{{Key: "each", Value: yamlnode.Text("{{ " + text + " }}")}}, e.Props...)
			t.Main = e
			t.Entries = append(t.Entries, e)
			t.Plain = true
		}
		return
	}
	if names.Kind == yaml.ScalarNode && !yamlnode.HasJinja(names) && strings.Contains(names.Value, ",") && !strings.ContainsAny(names.Value, "[<>=~!") {
		list = nil
		for _, name := range strings.Split(names.Value, ",") {
			list = append(list, yamlnode.Text(strings.TrimSpace(name)))
		}
	}
	for i, n := range list {
		name, within, ok := languageName(t.Text(n))
		if !ok {
			t.Problem("the package %s: neither a name nor one with versions", t.Text(n))
			return
		}
		if i == 0 {
			t.Write(one(name, within))
		} else {
			t.Extra(one(name, within))
		}
	}
	if len(list) > 1 && t.Keywords["register"] != nil {
		t.Problem("register of several packages: write one of them")
	}
}

var (
	// requirement is a name with extras, and what stands behind it.
	requirement = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((?:@[A-Za-z0-9._~-]+/)?(?:[A-Za-z0-9._-]|\{\{[^{}]*\}\})+(?:\[[A-Za-z0-9._, -]+\])?)\s*([=<>~!].*)?$`)
	})
	// exactly is one version, which an expression may give.
	exactly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^==\s*([A-Za-z0-9.+_-]|\{\{[^{}]*\}\})+$`) })
	// compatible is a version and those that are compatible with it (PEP 440).
	compatible = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^~=\s*(([0-9]+(?:\.[0-9]+)*)\.[0-9]+)$`) })
	// bound is one end of a range.
	languageBound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(>=|<=|!=|<|>)\s*([A-Za-z0-9][A-Za-z0-9.+_-]*)$`) })
)

// languageName takes the versions off a name: flask>=2,<3.
func languageName(text string) (name, ensure string, ok bool) {
	m := requirement().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || strings.HasPrefix(m[1], ".") { // which is a folder
		return "", "", false
	}
	name, rest := m[1], strings.TrimSpace(m[2])
	if rest == "" {
		return name, "", true
	}
	if exactly().MatchString(rest) {
		return name, strings.TrimSpace(strings.TrimPrefix(rest, "==")), true
	}
	var bounds []string
	for part := range strings.SplitSeq(rest, ",") {
		part = strings.TrimSpace(part)
		if c := compatible().FindStringSubmatch(part); c != nil {
			bounds = append(bounds, ">= "+c[1], "< "+next(c[2]))
			continue
		}
		b := languageBound().FindStringSubmatch(part)
		if b == nil {
			return "", "", false
		}
		bounds = append(bounds, b[1]+" "+b[2])
	}
	return name, strings.Join(bounds, ", "), true
}

// next is the version behind all that begin with one: 1.5 behind 1.4.
func next(version string) string {
	at := strings.LastIndexByte(version, '.') + 1
	number, _ := strconv.Atoi(version[at:])
	return version[:at] + strconv.Itoa(number+1)
}

func kindOfExpr(t *task.Task, e *j2.Expr) expression.Kind {
	v, err := t.W.Write(e)
	if err != nil {
		return expression.AnyKind
	}
	return v.Kind
}

package fromansible

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// A task is one that is being carried over.
type task struct {
	c     *converter
	node  *yaml.Node
	scope *expression.Scope
	w     *expression.Writer

	name     string
	module   string                // by its name in playbooks/manifest/ansible
	hint     ansible.Module        // what is there of it
	args     map[string]*yaml.Node // of the module
	order    []string              // of args
	free     string                // of a module that takes a line of text
	keywords map[string]*yaml.Node
	around   inherited

	entries  []*layout.Entry
	main     *layout.Entry // that the keywords are about
	problems []string
	notes    []string // what is different, in the report
	result   *expression.Result
	handler  bool
	plain    bool // a loop's elements are written into it: each is not
}

// inherited is what the blocks around a task say.
type inherited struct {
	environment *yaml.Node
	becomeUser  string
	ignore      bool // ignore_errors
	delegated   bool
}

func (t *task) line() int { return t.node.Line }

func (t *task) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(t.problems, text) {
		t.problems = append(t.problems, text)
	}
}

func (t *task) fail(err error) {
	if err == nil {
		return
	}
	for _, one := range strings.Split(err.Error(), "\n") {
		t.problem("%s", one)
	}
}

func (t *task) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// tasks converts a list of tasks.
func (c *converter) tasks(n *yaml.Node, s *expression.Scope, around inherited) []*layout.Entry {
	var list []*layout.Entry
	for _, item := range yamlnode.Items(n) {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.MappingNode {
			list = append(list, layout.Todo(position(c.shown(c.taskFile), item.Line), "what is no task", item))
			continue
		}
		if yamlnode.Get(item, "block") != nil {
			list = append(list, c.blockOf(item, s, around)...)
			continue
		}
		list = append(list, c.task(item, s, around, false)...)
	}
	return list
}

// task converts one task; what cannot be carried over is an entry that says so.
func (c *converter) task(n *yaml.Node, s *expression.Scope, around inherited, handler bool) []*layout.Entry {
	t := &task{c: c, node: n, scope: s.Child(), keywords: map[string]*yaml.Node{}, args: map[string]*yaml.Node{}, around: around, handler: handler}
	t.w = &expression.Writer{Scope: t.scope}
	t.read()
	if unrolled := t.unroll(); unrolled != nil {
		return unrolled
	}
	t.convert()
	return t.finish()
}

// convert has the module and the keywords write entries.
func (t *task) convert() {
	t.variables()
	t.loop()
	carry := carriers[t.module]
	switch {
	case t.module == "":
		t.problem("there is no module")
	case carry == nil:
		t.problem("%s", whyNot(t.module))
	default:
		t.registers()
		t.hint, _ = ansible.Find(t.module)
		carry(t)
	}
	if len(t.problems) == 0 || t.main != nil {
		t.applyKeywords()
	}
}

// whyNot says why a module is not carried over.
func whyNot(module string) string {
	m, ok := ansible.Find(module)
	if ok && m.Gap != "" {
		return "the module " + module + ": " + m.Gap
	}
	if ok && m.Type == "" {
		return "the module " + module + ": " + m.Write
	}
	return "the module " + module + " has no counterpart"
}

// finish gives the entries, and tells the report.
func (t *task) finish() []*layout.Entry {
	file := t.c.shown(t.c.taskFile)
	rep := &t.c.out.Report
	rep.count(t.module, t.keywordNames(), len(t.problems) == 0)
	if len(t.problems) > 0 {
		why := strings.Join(t.problems, "; ")
		rep.left(file, t.line(), t.module, why)
		if t.result != nil {
			t.result.Dead = position(file, t.line())
		}
		return []*layout.Entry{layout.Todo(position(file, t.line()), why, t.node)}
	}
	for _, note := range t.notes {
		rep.note(file, t.line(), note)
	}
	if len(t.entries) > 0 && t.name != "" && t.name != t.entries[0].Name {
		t.entries[0].Comments = append([]string{t.name}, t.entries[0].Comments...)
	}
	t.notifies()
	return t.entries
}

func (t *task) keywordNames() []string { return slices.Sorted(maps.Keys(t.keywords)) }

// read takes a task apart into its module, the arguments of that and keywords.
func (t *task) read() {
	for i := 0; i+1 < len(t.node.Content); i += 2 {
		key, value := t.node.Content[i].Value, t.node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		_, isKeyword := keywordRows[key]
		switch {
		case key == "name":
			t.name = value.Value
		case key == "action" || key == "local_action":
			t.action(key, value)
		case isKeyword || strings.HasPrefix(key, "with_"):
			t.keywords[key] = value
		case t.module == "":
			t.module = ansible.Name(key)
			t.arguments(value)
		default:
			t.problem("the key %s is not known", key)
		}
	}
	if args := t.keywords["args"]; args != nil {
		if args.Kind != yaml.MappingNode {
			t.problem("args is no map")
		}
		t.argumentMap(args)
		delete(t.keywords, "args")
	}
	if j2.HasTags(t.name) {
		t.name = strings.NewReplacer("{{ ", "", " }}", "", "{{", "", "}}", "").Replace(t.name)
	}
	t.name = strings.Join(strings.Fields(t.name), " ")
	t.belowRole()
	for key, n := range t.c.defaultsOf(t.module) {
		if t.args[key] == nil {
			t.args[key] = n
			t.order = append(t.order, key)
		}
	}
}

// belowRole has paths begin at the role that is read, where they name it.
func (t *task) belowRole() {
	t.free = withoutRolePath(t.free)
	for _, key := range []string{"src", "file"} {
		if n := t.args[key]; n != nil && n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "role_path") {
			below := *n
			below.Value = withoutRolePath(n.Value)
			t.args[key] = &below
		}
	}
}

// withoutRolePath takes {{ role_path }}/ away from the beginning of a path.
func withoutRolePath(path string) string {
	for _, prefix := range []string{"{{ role_path }}/", "{{role_path}}/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return rest
		}
	}
	return path
}

func (t *task) action(key string, value *yaml.Node) {
	if key == "local_action" {
		t.keywords["delegate_to"] = yamlnode.Text("localhost")
	}
	if value.Kind == yaml.MappingNode {
		if m := yamlnode.Get(value, "module"); m != nil {
			t.module = ansible.Name(m.Value)
		}
		t.argumentMap(value)
		delete(t.args, "module")
		return
	}
	module, rest, _ := strings.Cut(strings.TrimSpace(value.Value), " ")
	t.module = ansible.Name(module)
	t.arguments(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: rest, Line: value.Line})
}

func (t *task) argumentMap(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if key == "<<" {
			t.problem("a merged key")
		}
		if t.args[key] == nil {
			t.order = append(t.order, key)
		}
		t.args[key] = value
	}
}

// freeModules take a line of text, with few arguments in front of or behind it.
var freeModules = map[string][]string{
	"command": {"chdir", "creates", "removes", "executable", "warn", "stdin"}, "shell": {"chdir", "creates", "removes", "executable", "warn", "stdin"},
	"script": {"chdir", "creates", "removes", "executable"}, "raw": {"executable"}, "include_tasks": {"apply"}, "import_tasks": {}, "include": {}, "meta": {}, "include_vars": {}, "import_playbook": {},
}

func (t *task) arguments(n *yaml.Node) {
	known, free := freeModules[t.module]
	switch {
	case n.Kind == yaml.MappingNode:
		t.argumentMap(n)
	case yamlnode.IsNull(n):
	case free:
		t.free = t.withoutArguments(n.Value, known)
	case n.Kind == yaml.ScalarNode:
		before := len(n.Value)
		m := keyValues(n)
		if m == nil && before > 0 {
			t.problem("arguments that are no map")
			return
		}
		t.argumentMap(m)
	default:
		t.problem("arguments that are no map")
	}
}

// withoutArguments takes creates=x and the like out of a line.
func (t *task) withoutArguments(text string, known []string) string {
	words := splitWords(text)
	var rest []string
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if ok && slices.Contains(known, strings.TrimSpace(key)) {
			t.args[strings.TrimSpace(key)] = yamlnode.Text(unquote(value))
			t.order = append(t.order, strings.TrimSpace(key))
			continue
		}
		rest = append(rest, word)
	}
	if len(rest) == len(words) {
		return strings.TrimSpace(text)
	}
	return strings.Join(rest, " ")
}

// keyValues reads a=b c="d e" as a map; nil if it is something else.
func keyValues(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	for _, word := range splitWords(n.Value) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || !expression.IsWord(key) {
			return nil
		}
		v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: unquote(value), Line: n.Line}
		if v.Value == value && digits(value) {
			v.Tag = "!!int"
		}
		out.Content = append(out.Content, yamlnode.Text(key), v)
	}
	return out
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// splitWords splits at blanks, outside of quotes and of braces of Jinja.
func splitWords(text string) []string {
	var words []string
	var b strings.Builder
	var quote byte
	depth := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case strings.HasPrefix(text[i:], "{{") || strings.HasPrefix(text[i:], "{%"):
			depth++
			b.WriteString(text[i : i+2])
			i++
			continue
		case depth > 0 && (strings.HasPrefix(text[i:], "}}") || strings.HasPrefix(text[i:], "%}")):
			depth--
			b.WriteString(text[i : i+2])
			i++
			continue
		case depth > 0:
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\n' || c == '\t'):
			if b.Len() > 0 {
				words = append(words, b.String())
				b.Reset()
			}
			continue
		}
		b.WriteByte(c)
	}
	if b.Len() > 0 {
		words = append(words, b.String())
	}
	return words
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// variables are the vars of a task: their expressions stand in the place of their names.
func (t *task) variables() {
	n := t.keywords["vars"]
	if n == nil || t.module == "include_tasks" || t.module == "import_tasks" || t.module == "include_role" || t.module == "import_role" || t.module == "include" {
		return
	}
	t.fail(bindVars(t.scope, n))
}

func bindVars(s *expression.Scope, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return expression.Unknown("vars that are no map")
	}
	var errs error
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		e, err := expression.ExprOf(n.Content[i+1])
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		self := false
		e.Walk(func(x *j2.Expr) bool { self = self || x.Op == j2.Name && x.Text == name; return true })
		if self {
			errs = errors.Join(errs, expression.Unknown("the variable %s, which is made of itself", name))
			continue
		}
		s.Names[name] = expression.Binding{Expr: e}
	}
	return errs
}

// registers has the name of the result be known to what comes later.
func (t *task) registers() {
	n := t.keywords["register"]
	if n == nil {
		return
	}
	if !expression.IsWord(n.Value) {
		t.problem("register with this name")
		return
	}
	t.result = &expression.Result{Module: t.module, Looped: t.isLoop(), Asked: t.c.role.asked[n.Value]}
	if t.result.Looped {
		t.result.Asked = append(slices.Clone(t.result.Asked), t.c.role.asked["item"]...)
	}
}

// registered writes register at an entry; names of results are unique in all that is written.
func (t *task) registered(e *layout.Entry) {
	n := t.keywords["register"]
	if n == nil || t.result == nil {
		return
	}
	name := n.Value
	t.c.registered[name]++
	if count := t.c.registered[name]; count > 1 {
		name = fmt.Sprintf("%s_%d", name, count)
		t.c.registered[name]++
	}
	t.result.Base = "Results." + name
	t.c.results[n.Value] = t.result
	e.SetText("register", name)
}

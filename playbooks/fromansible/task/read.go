package task

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// read takes a task apart into its module, the arguments of that and keywords.
func read(t *Task) {
	for i := 0; i+1 < len(t.Node.Content); i += 2 {
		key, value := t.Node.Content[i].Value, t.Node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		_, isKeyword := Keywords[key]
		switch {
		case key == "name":
			t.Name = value.Value
		case key == "action" || key == "local_action":
			action(t, key, value)
		case isKeyword || strings.HasPrefix(key, "with_"):
			t.Keywords[key] = value
		case t.Module == "":
			t.Module = ansible.Name(key)
			arguments(t, value)
		default:
			t.Problem("the key %s is not known", key)
		}
	}
	if args := t.Keywords["args"]; args != nil {
		if args.Kind != yaml.MappingNode {
			t.Problem("args is no map")
		}
		argumentMap(t, args)
		delete(t.Keywords, "args")
	}
	if j2.HasTags(t.Name) {
		t.Name = strings.NewReplacer("{{ ", "", " }}", "", "{{", "", "}}", "").Replace(t.Name)
	}
	t.Name = strings.Join(strings.Fields(t.Name), " ")
	belowRole(t)
	for key, n := range t.File.ModuleDefaults(t.Module, ansible.Name) {
		if t.Args[key] == nil {
			t.Args[key] = n
			t.Order = append(t.Order, key)
		}
	}
}

// readers are modules that read files of the role or the play.
var readers = []string{"assemble", "copy", "import_tasks", "include", "include_tasks", "include_vars", "script", "template", "unarchive"}

// belowRole makes paths relative to the role or the folder of the playbook, if they begin with its path.
func belowRole(t *Task) {
	if !slices.Contains(readers, t.Module) || t.Args["remote_src"] != nil {
		return // the path is one of the host
	}
	prefix := rolePath
	if t.File.Name == "" {
		// The path of the playbook that Ansible was called with: one that it imports may be in another folder.
		if filepath.Clean(t.File.Dir) != filepath.Clean(t.File.To.Root) {
			return
		}
		prefix = playbookDir
	}
	t.Line = prefix().ReplaceAllString(t.Line, "")
	for _, key := range []string{"src", "file"} {
		if n := t.Args[key]; n != nil && n.Kind == yaml.ScalarNode && prefix().MatchString(n.Value) {
			below := *n
			below.Value = prefix().ReplaceAllString(n.Value, "")
			t.Args[key] = &below
		}
	}
}

var (
	rolePath    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\{\s*role_path\s*\}\}/`) })
	playbookDir = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\{\s*playbook_dir\s*\}\}/`) })
)

func action(t *Task, key string, value *yaml.Node) {
	if key == "local_action" {
		t.Keywords["delegate_to"] = yamlnode.Text("localhost")
	}
	if value.Kind == yaml.MappingNode {
		if m := yamlnode.Get(value, "module"); m != nil {
			t.Module = ansible.Name(m.Value)
		}
		argumentMap(t, value)
		delete(t.Args, "module")
		return
	}
	module, rest, _ := strings.Cut(strings.TrimSpace(value.Value), " ")
	t.Module = ansible.Name(module)
	arguments(t, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: rest, Line: value.Line})
}

func argumentMap(t *Task, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if key == "<<" {
			t.Problem("a merged key")
		}
		if t.Args[key] == nil {
			t.Order = append(t.Order, key)
		}
		t.Args[key] = value
	}
}

// freeModules take a line of text, with few arguments before or after it.
var freeModules = map[string][]string{
	"command": {"chdir", "creates", "removes", "executable", "warn", "stdin"}, "shell": {"chdir", "creates", "removes", "executable", "warn", "stdin"},
	"script": {"chdir", "creates", "removes", "executable"}, "raw": {"executable"}, "include_tasks": {"apply"}, "import_tasks": {}, "include": {}, "meta": {}, "include_vars": {}, "import_playbook": {},
}

func arguments(t *Task, n *yaml.Node) {
	known, free := freeModules[t.Module]
	switch {
	case n.Kind == yaml.MappingNode:
		argumentMap(t, n)
	case yamlnode.IsNull(n):
	case free:
		t.Line = withoutArguments(t, n.Value, known)
	case n.Kind == yaml.ScalarNode:
		before := len(n.Value)
		m := yamlnode.KeyValues(n)
		if m == nil && before > 0 {
			t.Problem("arguments that are no map")
			return
		}
		argumentMap(t, m)
	default:
		t.Problem("arguments that are no map")
	}
}

// withoutArguments takes creates=x and the like out of a line.
func withoutArguments(t *Task, text string, known []string) string {
	words := yamlnode.SplitWords(text)
	var rest []string
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if ok && slices.Contains(known, strings.TrimSpace(key)) {
			t.Args[strings.TrimSpace(key)] = yamlnode.Text(yamlnode.Unquote(value))
			t.Order = append(t.Order, strings.TrimSpace(key))
			continue
		}
		rest = append(rest, word)
	}
	if len(rest) == len(words) {
		return strings.TrimSpace(text)
	}
	return strings.Join(rest, " ")
}

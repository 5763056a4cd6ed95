package module

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// aptRepositoryTask carries over a line of sources.list: deb [arch=amd64 signed-by=/k.asc] URI SUITE COMPONENT…
func aptRepositoryTask(t *task.Task) {
	repo := t.Arg("repo")
	if repo == nil {
		t.Problem("apt_repository without repo")
		return
	}
	words := lineWords(repo.Value)
	if len(words) < 3 || words[0] != "deb" && words[0] != "deb-src" {
		t.Problem("a repository that is not written as a line of sources.list: %s", repo.Value)
		return
	}
	e := &layout.Entry{Type: "repository"}
	options, rest := listOptions(words[1:])
	if len(rest) < 2 {
		t.Problem("a repository without a suite: %s", repo.Value)
		return
	}
	e.Name = repositoryName(t, t.Arg("filename"), rest[0])
	repositoryState(t, e)
	e.Set("uris", texts(t, rest[:1]))
	e.Set("suites", texts(t, rest[1:2]))
	if len(rest) > 2 {
		e.Set("components", texts(t, rest[2:]))
	}
	if words[0] != "deb" {
		e.Set("types", yamlnode.Texts(words[0]))
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		switch strings.TrimSpace(name) {
		case "arch":
			e.Set("architectures", texts(t, strings.Split(value, ",")))
		case "signed-by":
			e.SetText("signed_by", t.Text(yamlnode.Text(value)))
		case "trusted":
			if value == "yes" {
				e.Set("gpgcheck", yamlnode.Bool(false))
			}
		default:
			t.Problem("the option %s of a repository: write it under options, as deb822 calls it", name)
		}
	}
	t.Write(e)
}

func deb822Task(t *task.Task) {
	if t.Arg("name") == nil {
		t.Problem("deb822_repository without a name")
		return
	}
	e := &layout.Entry{Type: "repository", Name: t.Text(t.Arg("name"))}
	repositoryState(t, e)
	for _, property := range []string{"uris", "suites", "components", "types", "architectures"} {
		putWords(t, e, property, t.Arg(property))
	}
	putKey(t, e, t.Arg("signed_by"))
	if n := t.Arg("trusted"); n != nil {
		if b, ok := yamlnode.BoolOf(n); !ok {
			t.Problem("trusted that is an expression")
		} else if b {
			e.Set("gpgcheck", yamlnode.Bool(false))
		}
	}
	if n := t.Arg("enabled"); n != nil {
		t.PutBool(e, "enabled", n)
	}
	t.Write(e)
}

// yumOptions are arguments that have the name of the setting.
var yumOptions = []string{"exclude", "includepkgs", "repo_gpgcheck", "sslverify", "skip_if_unavailable", "module_hotfixes", "proxy", "metadata_expire", "countme", "cost"}

func yumRepositoryTask(t *task.Task) {
	name := t.Arg("name")
	if name == nil {
		t.Problem("yum_repository without a name")
		return
	}
	e := &layout.Entry{Type: "repository", Name: t.Text(name)}
	repositoryState(t, e)
	t.Put(e, "description", t.Arg("description"))
	putWords(t, e, "uris", t.Arg("baseurl"))
	t.Put(e, "mirrorlist", t.Arg("mirrorlist"))
	t.Put(e, "metalink", t.Arg("metalink"))
	for _, property := range []string{"enabled", "gpgcheck"} {
		if n := t.Arg(property); n != nil {
			t.PutBool(e, property, n)
		}
	}
	if b, ok := yamlnode.BoolOf(t.Arg("gpgcheck")); !ok || b { // else nobody looks at it
		putKey(t, e, t.Arg("gpgkey"))
	}
	t.Put(e, "priority", t.Arg("priority"))
	if n := t.Arg("file"); n != nil {
		e.SetText("path", "/etc/yum.repos.d/"+t.Text(n)+".repo")
	}
	var options []any
	for _, option := range yumOptions {
		n := t.Arg(option)
		if n == nil {
			continue
		}
		value := n.Value
		if b, ok := yamlnode.BoolOf(n); ok && yamlnode.PlainBool(n) {
			value = map[bool]string{true: "1", false: "0"}[b]
		}
		if n.Kind == yaml.SequenceNode {
			var words []string
			for _, item := range n.Content {
				words = append(words, item.Value)
			}
			value = strings.Join(words, " ")
		}
		options = append(options, option, yamlnode.Text(t.Text(yamlnode.Text(value))))
	}
	if len(options) > 0 {
		e.Set("options", yamlnode.Map(options...))
	}
	t.Write(e)
}

// repositoryState is the argument state.
func repositoryState(t *task.Task, e *layout.Entry) {
	if state := t.OneOf(t.Arg("state"), map[string]string{"present": "present", "absent": "absent"}); state != "" && state != "present" {
		e.SetText("ensure", state)
	}
}

// putKey is a key: a text, or a path on the host. One that is at a URL lacks its checksum.
func putKey(t *task.Task, e *layout.Entry, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	at, isPath := strings.CutPrefix(n.Value, "file://")
	switch {
	case n.Kind != yaml.ScalarNode:
		t.Problem("several keys of a repository: join them in one file")
	case isPath:
		e.SetText("signed_by", t.Text(yamlnode.Text(at)))
	case strings.HasPrefix(n.Value, "/") || strings.HasPrefix(n.Value, "-----BEGIN PGP"):
		t.Put(e, "signed_by", n)
	default:
		t.Problem("the key %s is not pinned: write signed_by with the checksum of what is there", n.Value)
	}
}

// putWords is a list, or what is written in place of one: words with blanks between them.
func putWords(t *task.Task, e *layout.Entry, property string, n *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		t.Put(e, property, n)
	case expression.SoleExpr(n) != nil:
		v, err := t.W.Write(expression.SoleExpr(n))
		t.Fail(err)
		e.SetText(property, "{{ flatten(["+v.Text+"]) }}") // one or several
	default:
		e.Set(property, texts(t, lineWords(n.Value)))
	}
}

// texts are words as texts.
func texts(t *task.Task, words []string) *yaml.Node {
	var all []string
	for _, word := range words {
		all = append(all, t.Text(yamlnode.Text(word)))
	}
	return yamlnode.Texts(all...)
}

// repositoryName is the name of a file without its ending or, where none is given, made of a URI.
func repositoryName(t *task.Task, file *yaml.Node, uri string) string {
	if file != nil {
		return strings.TrimSuffix(t.Text(file), ".list")
	}
	u, err := url.Parse(uri)
	if err != nil || strings.Contains(uri, "{{") || u.Host == "" && u.Path == "" {
		t.Problem("a repository without filename, whose URI is an expression")
		return ""
	}
	name := strings.Trim(u.Host+"_"+strings.Trim(u.Path, "/"), "_")
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(path.Clean(name), "_"), "_.")
}

// lineWords parts a line at its blanks, but for those within an expression.
func lineWords(line string) []string {
	var words []string
	var word strings.Builder
	depth := 0
	for i := 0; i < len(line); i++ {
		switch {
		case strings.HasPrefix(line[i:], "{{"):
			depth++
		case strings.HasPrefix(line[i:], "}}"):
			depth--
		}
		if depth <= 0 && (line[i] == ' ' || line[i] == '\t' || line[i] == '\n') {
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			continue
		}
		word.WriteByte(line[i])
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}

// listOptions parts the options in brackets of a line of sources.list(5) from the words behind them.
func listOptions(words []string) (options, rest []string) {
	if !strings.HasPrefix(words[0], "[") {
		return nil, words
	}
	for i, word := range words {
		last := strings.HasSuffix(word, "]")
		if word = strings.Trim(word, "[]"); word != "" {
			options = append(options, word)
		}
		if last {
			return options, words[i+1:]
		}
	}
	return options, nil
}

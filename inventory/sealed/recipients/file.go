package recipients

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// FileName is the name of the file. Its folder is the root of the project: paths in rules are relative to it.
const FileName = ".ccm-secrets.yaml"

// A File is the content of .ccm-secrets.yaml.
type File struct {
	Name   string // as errors call it
	people map[string][]Key
	rules  []rule
}

// A rule assigns matching files to people. If several match, the first counts.
type rule struct {
	pattern *regexp.Regexp
	to      []string // names, without groups, sorted
}

// A Reader is one key that can read a file, and whose it is.
type Reader struct {
	Name string
	Key  Key
}

// nameText matches allowed names of people and groups.
var nameText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.@+-]*$`) })

// Parse reads the file. It reports all errors at once, with positions.
func Parse(name string, data []byte) (*File, error) {
	documents, err := yamlpos.Parse(name, data)
	if err != nil {
		return nil, err
	}
	p := parser{file: &File{Name: name, people: map[string][]Key{}}, groups: map[string][]string{}}
	top := &yamlpos.Node{File: name, Line: 1, Column: 1, Kind: yamlpos.Map}
	if len(documents) > 0 && !documents[0].IsNull() {
		top = documents[0]
	}
	switch {
	case len(documents) > 1:
		p.errs.Add(documents[1].Errorf("", "there is a second document"))
	case top.Kind != yamlpos.Map:
		p.errs.Add(top.Errorf("write people: and rules:", "this is %s, not a map", top.Describe()))
	default:
		p.top(top)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return p.file, nil
}

type parser struct {
	file   *File
	groups map[string][]string
	errs   yamlpos.Errors
}

func (p *parser) top(top *yamlpos.Node) {
	known := []string{"people", "groups", "rules"}
	for _, pair := range top.Pairs {
		if key := pair.Key.Text; !slices.Contains(known, key) {
			hint := "there are people, groups and rules"
			if meant := yamlpos.Suggest(key, known); meant != "" {
				hint = `did you mean "` + meant + `"?`
			}
			p.errs.Add(pair.Key.Errorf(hint, "unknown key %q", key))
		}
	}
	people := top.Get("people")
	if people.IsNull() {
		p.errs.Add(top.Errorf("write people: {anna: ssh-ed25519 AAAA…}", "no people and no groups are listed"))
	}
	for _, pair := range p.pairs(people, "people: NAME: KEY") {
		p.person(pair)
	}
	for _, pair := range p.pairs(top.Get("groups"), "groups: NAME: [PERSON…]") {
		p.group(pair)
	}
	rules := top.Get("rules")
	switch {
	case rules.IsNull():
		p.errs.Add(top.Errorf(`write rules: [{path: "**", to: [anna]}]`, "no rules, so no person can read a file"))
	case rules.Kind != yamlpos.List:
		p.errs.Add(rules.Errorf(`write rules: [{path: "**", to: [anna]}]`, "rules are a list, and this is %s", rules.Describe()))
	}
	if rules != nil {
		for _, item := range rules.Items {
			p.rule(item)
		}
	}
}

func (p *parser) pairs(n *yamlpos.Node, hint string) []yamlpos.Pair {
	switch {
	case n.IsNull():
		return nil
	case n.Kind != yamlpos.Map:
		p.errs.Add(n.Errorf("write "+hint, "this is %s, not a map", n.Describe()))
		return nil
	}
	for _, pair := range n.Pairs {
		if !nameText().MatchString(pair.Key.Text) {
			p.errs.Add(pair.Key.Errorf("use letters, digits, . _ @ + and -", "%q is not a name", pair.Key.Text))
		}
	}
	return n.Pairs
}

func (p *parser) person(pair yamlpos.Pair) {
	list := []*yamlpos.Node{pair.Value}
	if pair.Value.Kind == yamlpos.List {
		list = pair.Value.Items
	}
	if pair.Value.IsNull() || len(list) == 0 {
		p.file.people[pair.Key.Text] = nil
		p.errs.Add(pair.Key.Errorf("write "+pair.Key.Text+": ssh-ed25519 AAAA…", "%q has no key", pair.Key.Text))
		return
	}
	p.file.people[pair.Key.Text] = []Key{}
	for _, n := range list {
		if n.Kind != yamlpos.Scalar {
			p.errs.Add(n.Errorf("write a line of authorized_keys or a recipient of age", "a key is a text, and this is %s", n.Describe()))
			continue
		}
		key, err := ParseKey(n.Text)
		if err != nil {
			hint := ""
			if u, ok := errors.AsType[*unsuited](err); ok {
				hint = u.hint
			}
			p.errs.Add(n.Errorf(hint, "%s: %v", pair.Key.Text, err))
			continue
		}
		p.file.people[pair.Key.Text] = append(p.file.people[pair.Key.Text], key)
	}
}

func (p *parser) group(pair yamlpos.Pair) {
	if _, taken := p.file.people[pair.Key.Text]; taken {
		p.errs.Add(pair.Key.Errorf("rename the group", "%q is a person", pair.Key.Text))
	}
	p.groups[pair.Key.Text] = p.names(pair.Value, nil)
}

// names returns the people in a node; groups may be nil.
func (p *parser) names(n *yamlpos.Node, groups map[string][]string) (names []string) {
	list := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		list = n.Items
	}
	for _, one := range list {
		_, known := p.file.people[one.Text]
		members, isGroup := groups[one.Text]
		switch {
		case one.Kind != yamlpos.Scalar || one.IsNull():
			p.errs.Add(one.Errorf("write names: [anna, bert]", "expected a name, but this is %s", one.Describe()))
		case known:
			names = append(names, one.Text)
		case isGroup:
			names = append(names, members...)
		default:
			hint := "write " + one.Text + " and a key below people"
			all := slices.AppendSeq(slices.Collect(maps.Keys(p.file.people)), maps.Keys(groups))
			if meant := yamlpos.Suggest(one.Text, slices.Sorted(slices.Values(all))); meant != "" {
				hint = `did you mean "` + meant + `"?`
			}
			p.errs.Add(one.Errorf(hint, "no person and no group has the name %q", one.Text))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *parser) rule(n *yamlpos.Node) {
	const hint = `write {path: "group_vars/**", to: [anna]}`
	if n.Kind != yamlpos.Map {
		p.errs.Add(n.Errorf(hint, "a rule is a map, and this is %s", n.Describe()))
		return
	}
	for _, pair := range n.Pairs {
		if key := pair.Key.Text; key != "path" && key != "to" {
			p.errs.Add(pair.Key.Errorf(hint, "unknown key %q", key))
		}
	}
	path, to := n.Get("path"), n.Get("to")
	if path.IsNull() || to.IsNull() {
		p.errs.Add(n.Errorf(hint, `a rule has the keys "path" and "to"`))
		return
	}
	names := p.names(to, p.groups)
	if len(names) == 0 {
		p.errs.Add(to.Errorf(hint, "the rule lists no recipients"))
	}
	list := []*yamlpos.Node{path}
	if path.Kind == yamlpos.List {
		list = path.Items
	}
	for _, one := range list {
		pattern, err := glob(one)
		if err != nil {
			p.errs.Add(err)
			continue
		}
		p.file.rules = append(p.file.rules, rule{pattern, names})
	}
}

// glob makes a pattern of a path: * and ? stay within a folder, ** does not.
func glob(n *yamlpos.Node) (*regexp.Regexp, error) {
	text := n.Text
	switch {
	case n.Kind != yamlpos.Scalar || n.IsNull() || text == "":
		return nil, n.Errorf(`write "group_vars/**", say`, "a path is a text, and this is %s", n.Describe())
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || slices.Contains(strings.Split(text, "/"), ".."):
		return nil, n.Errorf("write it without / ./ and ../", "the path %q is not relative to the folder of this file", text)
	case strings.HasSuffix(text, "/"):
		text += "**"
	}
	var b strings.Builder
	b.WriteString("^")
	for text != "" {
		switch {
		case strings.HasPrefix(text, "**/"):
			b.WriteString("(?:.*/)?")
			text = text[3:]
		case strings.HasPrefix(text, "**"):
			b.WriteString(".*")
			text = text[2:]
		case text[0] == '*':
			b.WriteString("[^/]*")
			text = text[1:]
		case text[0] == '?':
			b.WriteString("[^/]")
			text = text[1:]
		default:
			end := strings.IndexAny(text, "*?")
			if end < 0 {
				end = len(text)
			}
			b.WriteString(regexp.QuoteMeta(text[:end]))
			text = text[end:]
		}
	}
	b.WriteString("$")
	pattern, err := regexp.Compile("(?s)" + b.String())
	if err != nil {
		return nil, n.Errorf("", "the path %q is not a pattern", n.Text)
	}
	return pattern, nil
}

// Readers returns the keys that can read a file, sorted by names; path is relative to the root. It is an error if no
// rule matches.
func (f *File) Readers(path string) ([]Reader, error) {
	for _, r := range f.rules {
		if !r.pattern.MatchString(path) {
			continue
		}
		var readers []Reader
		for _, name := range r.to {
			for _, key := range f.people[name] {
				readers = append(readers, Reader{name, key})
			}
		}
		return readers, nil
	}
	return nil, &yamlpos.Error{File: f.Name, Msg: "no rule matches " + path, Hint: `write one below rules: {path: "` + path + `", to: [PERSON…]}`}
}

// Everybody returns all keys, sorted by names.
func (f *File) Everybody() (list []Reader) {
	for _, name := range slices.Sorted(maps.Keys(f.people)) {
		for _, key := range f.people[name] {
			list = append(list, Reader{name, key})
		}
	}
	return list
}

package fromansible

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// A play is one that is written.
type play struct {
	name    string
	hosts   *yaml.Node
	include string
	keys    []layout.Property
	role    *role // of its own tasks
	roles   []*role
	vars    *yaml.Node // its variables, as they are in Ansible
	params  *yaml.Node // those that it gives to roles
	files   []string   // of its vars_files
	entries []*layout.Entry
	facts   []layout.Property // what its tasks set
}

func (p *play) set(key string, n *yaml.Node) {
	for i := range p.keys {
		if p.keys[i].Key == key {
			p.keys[i].Value = n
			return
		}
	}
	p.keys = append(p.keys, layout.Property{Key: key, Value: n})
}

// playFile is how the manifest of a playbook is called: as it is, unless another one in another
// folder is called so.
func (c *converter) playFile(path string) string {
	path = filepath.Clean(path)
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".yaml"
	taken := func(name string) bool {
		for _, other := range c.plays {
			if other == name {
				return true
			}
		}
		return false
	}
	if taken(name) {
		name = strings.ReplaceAll(strings.TrimSuffix(c.shown(path), filepath.Ext(path)), "/", "-") + ".yaml"
	}
	for taken(name) {
		name = "play-" + name
	}
	return name
}

// playbook converts a playbook, once.
func (c *converter) playbook(path string) error {
	path = filepath.Clean(path)
	if c.plays[path] != "" {
		return nil
	}
	file := c.playFile(path)
	c.plays[path] = file
	n, err := c.readYAML(path)
	if err != nil {
		return err
	}
	if !isPlaybook(n) {
		return fmt.Errorf("%s is no playbook: it has no list of plays with hosts", path)
	}
	var list []*play
	for _, one := range n.Content {
		if one.Kind != yaml.MappingNode {
			continue
		}
		list = append(list, c.play(one, path))
	}
	c.writePlays(file, list)
	return nil
}

// asIs are the keys of a play that mean the same here.
var asIs = []string{"become", "become_user", "become_method", "serial", "max_fail_percentage", "any_errors_fatal", "tags"}

// withoutMeaning are those that have none, and why.
var withoutMeaning = map[string]string{
	"gather_facts": "", "gather_subset": "", "gather_timeout": "", "collections": "", "strategy": "between its resources no host waits for others", "order": "hosts have the order of the inventory",
	"force_handlers": "a refresh that is due is noted by the host, and done in a later run", "debugger": "", "diff": "", "connection": "the inventory says how a host is reached", "remote_user": "the inventory says who logs in",
	"vars_prompt": "give it with -e", "become_flags": "become, become_user and become_method say it all", "user": "the inventory says who logs in", "ignore_unreachable": "other hosts go on", "port": "the inventory says it",
}

func (c *converter) play(n *yaml.Node, path string) *play {
	p := &play{role: newRole("", filepath.Dir(path), "")}
	file := c.shown(path)
	for _, key := range []string{"import_playbook", "ansible.builtin.import_playbook"} {
		if other := yamlnode.Get(n, key); other != nil {
			c.imported(p, n, other, path)
			return p
		}
	}
	problem := func(line int, format string, args ...any) {
		why := fmt.Sprintf(format, args...)
		p.entries = append(p.entries, layout.Todo(position(file, line), why, nil))
		c.out.Report.left(file, line, "play", why)
	}
	if name := yamlnode.Get(n, "name"); name != nil {
		p.name = name.Value
	}
	around := inherited{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		note, meaningless := withoutMeaning[key]
		switch {
		case key == "name", key == "roles", key == "pre_tasks", key == "tasks", key == "post_tasks", key == "handlers":
		case key == "hosts":
			p.hosts = c.hosts(v, func(why string) { problem(v.Line, "%s", why) })
		case key == "vars":
			p.vars = v
		case key == "vars_files":
		case key == "environment":
			around.environment = v
		case key == "no_log":
			problem(v.Line, "no_log at a play: write sensitive at its resources")
		case key == "ignore_errors":
			around.ignore, _ = yamlnode.BoolOf(v)
		case key == "module_defaults":
			p.role.moduleDefaults = v
		case meaningless:
			if note != "" {
				c.out.Report.note(file, v.Line, key+": "+note)
			}
		case slices.Contains(asIs, key):
			c.playKey(p, key, v, problem)
		default:
			problem(v.Line, "the key %s of a play", key)
		}
	}
	if p.hosts == nil {
		p.hosts = yamlnode.Text("all")
	}
	c.inRole(p.role, func() {
		c.taskFile = path
		c.playData(p, yamlnode.Get(n, "vars_files"), problem)
		registers := map[string]bool{}
		p.role.surveyTasks(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}, nil, registers, false)
		c.askedIn(p.role, n)
		for _, name := range sortedKeys(p.role.facts) {
			p.role.settle(name, registers)
		}
		c.playFacts(p)
		c.addHandlers(p.role, yamlnode.Get(n, "handlers"), path)
		scope := func() *expression.Scope { return &expression.Scope{Names: map[string]expression.Binding{}, Files: c} }
		p.entries = append(p.entries, c.tasks(yamlnode.Get(n, "pre_tasks"), scope(), around)...)
		if yamlnode.Get(n, "pre_tasks") != nil {
			p.entries = append(p.entries, c.flush(p.role, p.entries)...)
		}
		c.playRoles(p, yamlnode.Get(n, "roles"), problem)
		c.taskFile = path
		p.entries = append(p.entries, c.tasks(yamlnode.Get(n, "tasks"), scope(), around)...)
		if yamlnode.Get(n, "tasks") != nil && yamlnode.Get(n, "post_tasks") != nil {
			p.entries = append(p.entries, c.flush(p.role, p.entries)...)
		}
		p.entries = append(p.entries, c.tasks(yamlnode.Get(n, "post_tasks"), scope(), around)...)
		p.entries = append(p.entries, c.flush(p.role, p.entries)...)
		c.unusedHandlers(p.role)
		c.layout.NameTargets(p.entries)
		for _, m := range p.role.made {
			if m.path != "" && hasResources(m.entries) {
				c.writeManifest(m.path, m.entries)
			}
		}
	})
	became := p.role.became
	for _, r := range p.allRoles() {
		became = became || r.became
	}
	if became && !slices.ContainsFunc(p.keys, func(k layout.Property) bool { return k.Key == "become" }) {
		p.set("become", yamlnode.Bool(true))
		c.out.Report.note(file, n.Line, "become at tasks; all of the play is done as root")
	}
	return p
}

func (c *converter) imported(p *play, n, other *yaml.Node, path string) {
	file := filepath.Join(filepath.Dir(path), other.Value)
	if j2.HasTags(other.Value) || !isFile(file) {
		why := "import_playbook " + other.Value + ", which is not there"
		p.entries = append(p.entries, layout.Todo(position(c.shown(path), n.Line), why, nil))
		c.out.Report.left(c.shown(path), n.Line, "import_playbook", why)
		p.hosts = yamlnode.Text("all")
		return
	}
	if err := c.playbook(file); err != nil {
		c.out.Report.left(c.shown(path), n.Line, "import_playbook", err.Error())
		p.entries = append(p.entries, layout.Todo(position(c.shown(path), n.Line), err.Error(), nil))
		p.hosts = yamlnode.Text("all")
		return
	}
	p.include = c.plays[file]
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, v := n.Content[i].Value, n.Content[i+1]; key {
		case "name", "import_playbook", "ansible.builtin.import_playbook":
		case "tags":
			p.set("tags", layout.Flowed(yamlnode.Texts(tagNames(v)...)))
		default:
			c.out.Report.left(c.shown(path), v.Line, "import_playbook", key+" of import_playbook")
		}
	}
}

// hosts is the pattern of a play.
func (c *converter) hosts(n *yaml.Node, problem func(string)) *yaml.Node {
	var list []string
	for _, one := range yamlnode.Items(n) {
		if yamlnode.HasJinja(one) {
			problem("hosts that are an expression: " + one.Value)
			return yamlnode.Text("all")
		}
		list = append(list, one.Value)
	}
	return yamlnode.Text(strings.Join(list, ":"))
}

func (c *converter) playKey(p *play, key string, n *yaml.Node, problem func(int, string, ...any)) {
	switch {
	case yamlnode.HasJinja(n) || slices.ContainsFunc(yamlnode.Items(n), yamlnode.HasJinja):
		problem(n.Line, "%s of a play that is an expression", key)
	case key == "tags":
		p.set(key, layout.Flowed(yamlnode.Texts(tagNames(n)...)))
	case key == "become" || key == "any_errors_fatal":
		b, ok := yamlnode.BoolOf(n)
		if !ok {
			problem(n.Line, "%s: %s", key, n.Value)
			return
		}
		if b {
			p.set(key, yamlnode.Bool(true))
		}
	default:
		p.set(key, layout.Flowed(n))
	}
}

// playData reads the variables of a play, so that their kinds are known.
func (c *converter) playData(p *play, files *yaml.Node, problem func(int, string, ...any)) {
	r := p.role
	if p.vars != nil && p.vars.Kind != yaml.MappingNode {
		problem(p.vars.Line, "vars that are no map")
		p.vars = nil
	}
	for _, one := range yamlnode.Items(files) {
		path := filepath.Join(r.dir, one.Value)
		if one.Kind != yaml.ScalarNode || yamlnode.HasJinja(one) || !isFile(path) {
			problem(one.Line, "the file of variables %s, which is not there or known only to a host", expression.Shortened(one.Value))
			continue
		}
		to := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(one.Value)), filepath.Ext(one.Value)) + ".yaml"
		if strings.HasPrefix(to, "..") {
			to = "vars-" + filepath.Base(to)
		}
		before := len(r.varsFile)
		c.dataFile(r, path, to)
		if len(r.varsFile) > before {
			p.files = append(p.files, r.varsFile[before:]...)
			r.varsFile = r.varsFile[:before]
		}
	}
	if p.vars != nil {
		for i := 0; i+1 < len(p.vars.Content); i += 2 {
			r.data[p.vars.Content[i].Value] = p.vars.Content[i+1]
		}
	}
}

// playFacts has what tasks of a play set be data of it.
func (c *converter) playFacts(p *play) {
	w := &expression.Writer{Scope: &expression.Scope{Names: map[string]expression.Binding{}, Files: c}}
	for _, v := range p.role.setVars {
		n, err := w.DataOf(v.value)
		if err != nil {
			p.role.facts[v.name].why = err.Error()
			continue
		}
		p.facts = append(p.facts, layout.Property{Key: v.name, Value: n})
	}
}

// playRoles has a play apply its roles.
func (c *converter) playRoles(p *play, n *yaml.Node, problem func(int, string, ...any)) {
	seen := map[*role]bool{}
	for _, one := range yamlnode.Items(n) {
		name := one
		if one.Kind == yaml.MappingNode {
			if name = yamlnode.Get(one, "role"); name == nil {
				name = yamlnode.Get(one, "name")
			}
		}
		if name == nil || name.Kind != yaml.ScalarNode {
			problem(one.Line, "a role without a name")
			continue
		}
		found := ""
		if !yamlnode.HasJinja(name) {
			found = c.findRole(name.Value, p.role.dir)
		}
		if found == "" {
			problem(one.Line, "the role %s, which is not there", name.Value)
			continue
		}
		r := c.readRole(found)
		for _, dep := range c.needed(r) {
			if dep != r && seen[dep] {
				continue
			}
			again := seen[dep]
			seen[dep] = true
			list := c.applies([]*role{dep})
			if dep == r && one.Kind == yaml.MappingNode && len(list) > 0 {
				c.roleKeys(p, list[0], one, again, problem)
			}
			p.roles = append(p.roles, dep)
			p.entries = append(p.entries, list...)
		}
	}
}

// roleKeys writes what a play says beside the name of a role.
func (c *converter) roleKeys(p *play, e *layout.Entry, n *yaml.Node, again bool, problem func(int, string, ...any)) {
	w := &expression.Writer{Scope: &expression.Scope{Names: map[string]expression.Binding{}, Files: c}}
	params := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		switch key {
		case "role", "name":
		case "tags":
			e.Set("tags", yamlnode.Texts(tagNames(v)...))
		case "when":
			list, err := w.Conditions(v)
			if err != nil {
				problem(v.Line, "%v", err)
				continue
			}
			e.Set("control", controlNode(list))
		case "become":
			if b, _ := yamlnode.BoolOf(v); b {
				p.role.became = true
			}
		case "vars":
			if v.Kind == yaml.MappingNode {
				params.Content = append(params.Content, v.Content...)
			}
		case "delegate_to", "become_user", "environment", "delegate_facts", "no_log", "run_once", "any_errors_fatal", "ignore_errors":
			problem(v.Line, "%s of a role", key)
		default:
			params.Content = append(params.Content, n.Content[i], v)
		}
	}
	if len(params.Content) == 0 {
		return
	}
	if !again && !slices.ContainsFunc(p.roles, func(r *role) bool { return r.out == e.Name }) {
		if p.params == nil {
			p.params = &yaml.Node{Kind: yaml.MappingNode}
		}
		p.params.Content = append(p.params.Content, params.Content...)
		return
	}
	var pairs []string
	for i := 0; i+1 < len(params.Content); i += 2 {
		x, err := expression.ExprOf(params.Content[i+1])
		if err == nil {
			var v expression.Term
			v, err = w.Write(x)
			pairs = append(pairs, params.Content[i].Value+": "+v.Text)
		}
		if err != nil {
			problem(params.Content[i].Line, "%v", err)
		}
	}
	e.SetText("data", "{{ fromPairs(concat(toPairs(Data), toPairs({"+strings.Join(pairs, ", ")+"}))) }}")
}

// allRoles are the roles of a play, and those that they apply themselves.
func (p *play) allRoles() []*role {
	var list []*role
	var add func(r *role)
	add = func(r *role) {
		if r == nil || slices.Contains(list, r) {
			return
		}
		for _, other := range r.usedRoles {
			add(other)
		}
		list = append(list, r)
	}
	for _, r := range p.roles {
		add(r)
	}
	if p.role != nil {
		for _, r := range p.role.usedRoles {
			add(r)
		}
	}
	return list
}

// writePlays writes the manifest of a playbook.
func (c *converter) writePlays(file string, plays []*play) {
	out := yamlnode.List()
	for i, p := range plays {
		n := yamlnode.Map()
		add := func(key string, v *yaml.Node) { n.Content = append(n.Content, yamlnode.Text(key), v) }
		if p.name != "" {
			add("name", yamlnode.Text(strings.NewReplacer("{{ ", "", " }}", "").Replace(p.name)))
		}
		if p.hosts != nil {
			add("hosts", p.hosts)
		}
		for _, k := range p.keys {
			add(k.Key, k.Value)
		}
		if p.include != "" {
			add("include", yamlnode.Text(p.include))
			out.Content = append(out.Content, n)
			continue
		}
		if !hasResources(p.entries) {
			c.out.Report.note(file, 0, "the play "+p.name+" has no resources, and is not written")
			continue
		}
		data, files := c.dataOfPlay(p, file, i)
		if len(files) > 0 {
			add("vars_files", layout.Flowed(yamlnode.Texts(files...)))
		}
		if data != nil && len(data.Content) > 0 {
			add("data", data)
		}
		add("ccm", c.layout.CCM(p.entries))
		out.Content = append(out.Content, n)
	}
	if len(out.Content) > 0 {
		c.out.Files[file] = File{yamlnode.Encode(out), 0o644}
	}
}

// dataOfPlay gives the data of a play: what its roles have by default, what it says itself,
// and over these what is not to be changed. Files go over data here, so what the play says of
// variables that files have too stands in a file behind them.
func (c *converter) dataOfPlay(p *play, file string, index int) (data *yaml.Node, files []string) {
	known := map[string]bool{}
	var late []string
	c.conflicts(p)
	for _, r := range p.allRoles() {
		for name := range r.data {
			known[name] = true
		}
		for _, f := range r.varsFile {
			if strings.HasPrefix(filepath.Base(f), "defaults") {
				files = append(files, f)
			} else {
				late = append(late, f)
			}
		}
	}
	data = yamlnode.Map()
	over := yamlnode.Map()
	w := &expression.Writer{Scope: &expression.Scope{Names: map[string]expression.Binding{}, Files: c}}
	c.inRole(newRole("", c.root, ""), func() {
		for _, from := range []*yaml.Node{p.vars, p.params} {
			if from == nil {
				continue
			}
			for i := 0; i+1 < len(from.Content); i += 2 {
				to := data
				if known[from.Content[i].Value] {
					to = over
				}
				key := *from.Content[i]
				key.Anchor = ""
				to.Content = append(to.Content, &key, c.dataValue(w, from.Content[i+1], filepath.Join(c.root, file)))
				if _, there := c.o.Variables[key.Value]; there {
					c.out.Report.note(file, from.Content[i].Line, "the variable "+key.Value+" of the play: the inventory, which has it too, goes over it")
				}
			}
		}
	})
	for _, f := range p.facts {
		data.Content = append(data.Content, yamlnode.Text(f.Key), f.Value)
	}
	if len(over.Content) > 0 {
		name := "vars/" + file
		if index > 0 {
			name = "vars/" + strings.TrimSuffix(file, ".yaml") + fmt.Sprintf("-%d.yaml", index+1)
		}
		c.out.Files[name] = File{yamlnode.Encode(over), 0o644}
		files = append(files, name)
	}
	return data, append(append(files, p.files...), late...)
}

// conflicts marks variables that two roles of a play have with different values: a role of
// Ansible sees its own, here data is that of the play.
func (c *converter) conflicts(p *play) {
	owner := map[string]*role{}
	for _, r := range p.allRoles() {
		for _, name := range sortedKeys(r.data) {
			if r.data[name] == nil {
				continue
			}
			other := owner[name]
			if other == nil {
				owner[name] = r
				continue
			}
			if string(yamlnode.Encode(other.data[name])) != string(yamlnode.Encode(r.data[name])) {
				why := fmt.Sprintf("the roles %s and %s have different values of the variable %s: give it another name in one of them", other.name, r.name, name)
				c.out.Report.left(c.shown(r.dir), r.data[name].Line, "variables", why)
				p.entries = append([]*layout.Entry{layout.Todo(position(c.shown(r.dir), r.data[name].Line), why, nil)}, p.entries...)
			}
		}
	}
}

// askedIn finds what is asked of results of stat in a play.
func (c *converter) askedIn(r *role, n *yaml.Node) {
	for _, m := range statAsked().FindAllStringSubmatch(string(yamlnode.Encode(n)), -1) {
		if !slices.Contains(r.asked[m[1]], m[2]) {
			r.asked[m[1]] = append(r.asked[m[1]], m[2])
		}
	}
}

// defaultsOf are the arguments that module_defaults of the play give to a module.
func (c *converter) defaultsOf(module string) map[string]*yaml.Node {
	list := map[string]*yaml.Node{}
	if c.role == nil || c.role.moduleDefaults == nil {
		return list
	}
	for i := 0; i+1 < len(c.role.moduleDefaults.Content); i += 2 {
		if v := c.role.moduleDefaults.Content[i+1]; ansible.Name(c.role.moduleDefaults.Content[i].Value) == module && v.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(v.Content); j += 2 {
				list[v.Content[j].Value] = v.Content[j+1]
			}
		}
	}
	return list
}

// mentioned reports whether a text stands in any task of the role.
func (c *converter) mentioned(text string) bool {
	if c.role.text == "" {
		c.role.text = readAll(c.role, c.taskFile)
	}
	return strings.Contains(c.role.text, text)
}

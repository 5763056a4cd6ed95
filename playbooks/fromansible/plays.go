package fromansible

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A play is a play of the output.
type play struct {
	name     string
	hosts    *yaml.Node
	include  string
	keys     []layout.Property
	tasks    *unit // tasks of the play
	roles    []*unit
	vars     *yaml.Node   // its variables, as they are in Ansible
	over     *yaml.Node   // variables that override the inventory; nil without any
	shared   []*yaml.Node // vars of its roles
	sharedBy []*unit      // the roles of shared
	files    []string     // of its vars_files
	entries  []*layout.Entry
	facts    []layout.Property // what its tasks set
	rooted   bool              // tasks make it root's
	earlier  []factOfPlay      // variables that earlier plays set
	parts    []string          // its tasks as they are in Ansible
	source   string            // the play as it is in Ansible
	path     string            // its playbook
}

// A factOfPlay is a variable that the tasks of a play set, which later plays of the host see.
type factOfPlay struct {
	hosts, play, name string
	value             *yaml.Node
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
		name = strings.ReplaceAll(strings.TrimSuffix(c.out.Shown(path), filepath.Ext(path)), "/", "-") + ".yaml"
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
	n, err := c.out.ReadYAML(path)
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
	varsBeside(path, list, c.out)
	c.writePlays(file, list)
	return nil
}

// varsBeside writes a todo into a playbook that has variables next to it, unless it is a link to the variables of the whole folder.
func varsBeside(path string, list []*play, out *output.Output) {
	for _, name := range besides {
		dir := filepath.Join(filepath.Dir(path), name)
		if len(list) == 0 || !out.From.IsFolder(dir) || out.From.Real(dir) == out.From.Real(filepath.Join(out.Root, name)) {
			continue
		}
		why := "the folder " + out.Shown(dir) + ", which has variables for this playbook: move it next to the inventory, or name its files in vars_files"
		f := list[0].tasks.File(path)
		f.Leave(1, "play", why)
		todo := layout.Todo(f.Position(1), why, nil)
		todo.Does = layout.Nothing
		list[0].entries = append([]*layout.Entry{todo}, list[0].entries...)
	}
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
	p := &play{tasks: c.newUnit("", filepath.Dir(path), "")}
	r := p.tasks.reader(path)
	for _, key := range []string{"import_playbook", "ansible.builtin.import_playbook"} {
		if other := yamlnode.Get(n, key); other != nil {
			c.imported(p, n, other, r)
			return p
		}
	}
	problem := func(line int, format string, args ...any) {
		why := fmt.Sprintf(format, args...)
		todo := layout.Todo(r.f.Position(line), why, nil)
		todo.Does = layout.Nothing
		p.entries = append(p.entries, todo)
		r.f.Leave(line, "play", why)
	}
	around := c.playKeys(p, n, r, problem)
	c.playData(p, yamlnode.Get(n, "vars_files"), problem)
	p.tasks.SurveyPlay(n)
	p.earlier = slices.Clone(c.facts)
	p.source, p.path = string(yamlnode.Encode(n)), path
	names, values := p.tasks.SetVariables()
	for i, name := range names {
		if values[i] != nil {
			p.facts = append(p.facts, layout.Property{Key: name, Value: values[i]})
			p.tasks.sets[name] = values[i]
		}
	}
	p.tasks.addHandlers(yamlnode.Get(n, "handlers"), path)
	c.playTasks(p, n, r, around, problem)
	for _, u := range append(p.allRoles(), p.tasks) {
		for _, name := range slices.Sorted(maps.Keys(u.sets)) {
			c.facts = append(c.facts, factOfPlay{p.hosts.Value, r.f.Position(n.Line), name, u.sets[name]})
		}
	}
	became := p.tasks.Became
	for _, u := range p.allRoles() {
		became = became || u.Became
	}
	if became && !slices.ContainsFunc(p.keys, func(k layout.Property) bool { return k.Key == "become" }) {
		p.set("become", yamlnode.Bool(true))
		p.rooted = c.o.Variables["ansible_user"] != "root" && c.o.Variables["ansible_ssh_user"] != "root" && c.o.Variables["ansible_become"] != true
		c.out.Report.Note(c.out.Shown(path), n.Line, "become at tasks; all of the play is done as root")
	}
	return p
}

// playKeys writes what a play says beside its tasks, and gives what is around these.
func (c *converter) playKeys(p *play, n *yaml.Node, r reader, problem func(int, string, ...any)) (around task.Around) {
	if name := yamlnode.Get(n, "name"); name != nil {
		p.name = name.Value
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		note, meaningless := withoutMeaning[key]
		switch {
		case key == "name", key == "roles", key == "pre_tasks", key == "tasks", key == "post_tasks", key == "handlers":
		case key == "hosts":
			p.hosts = hosts(v, func(why string) { problem(v.Line, "%s", why) })
		case key == "vars":
			p.vars = v
		case key == "vars_files":
		case key == "environment":
			around.Environment = v
		case key == "no_log":
			problem(v.Line, "no_log at a play: write sensitive at its resources")
		case key == "ignore_errors":
			around.Ignore, _ = yamlnode.BoolOf(v)
		case key == "module_defaults":
			p.tasks.Defaults = v
		case meaningless:
			if note != "" {
				c.out.Report.Note(c.out.Shown(r.f.Path), v.Line, key+": "+note)
			}
		case slices.Contains(asIs, key):
			playKey(p, key, v, problem)
		default:
			problem(v.Line, "the key %s of a play", key)
		}
	}
	if p.hosts == nil {
		p.hosts = yamlnode.Text("all")
	}
	return around
}

// playTasks carries over the tasks of a play, its roles between them, in the order in which Ansible has them.
func (c *converter) playTasks(p *play, n *yaml.Node, r reader, around task.Around, problem func(int, string, ...any)) {
	part := func(key string) (there bool) {
		tasks := yamlnode.Get(n, key)
		if tasks != nil {
			p.parts = append(p.parts, string(yamlnode.Encode(tasks)))
		}
		p.entries = append(p.entries, r.tasks(tasks, r.f.Scope(), around)...)
		return tasks != nil
	}
	flush := func() { p.entries = append(p.entries, p.tasks.flush(p.entries)...) }
	if part("pre_tasks") {
		flush()
	}
	c.playRoles(p, yamlnode.Get(n, "roles"), problem)
	if part("tasks") && yamlnode.Get(n, "post_tasks") != nil {
		flush()
	}
	part("post_tasks")
	flush()
	p.tasks.unusedHandlers()
	c.layout.NameTargets(p.entries)
	p.tasks.writeMade()
}

// imported has a play be the plays of another playbook.
func (c *converter) imported(p *play, n, other *yaml.Node, r reader) {
	file := filepath.Join(filepath.Dir(r.f.Path), other.Value)
	leave := func(why string) {
		p.entries = append(p.entries, layout.Todo(r.f.Position(n.Line), why, nil))
		r.f.Leave(n.Line, "import_playbook", why)
		p.hosts = yamlnode.Text("all")
	}
	if j2.HasTags(other.Value) || !c.out.From.IsFile(file) {
		leave("import_playbook " + other.Value + ", which is not there")
		return
	}
	if err := c.playbook(file); err != nil {
		leave(err.Error())
		return
	}
	p.include = c.plays[file]
	if c.out.Files[p.include].Content == nil && c.written[p.include] != nil { // all of it is elsewhere
		p.include = ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, v := n.Content[i].Value, n.Content[i+1]; key {
		case "name", "import_playbook", "ansible.builtin.import_playbook":
		case "tags":
			p.set("tags", layout.Flowed(yamlnode.Texts(yamlnode.Names(v)...)))
		default:
			r.f.Leave(v.Line, "import_playbook", key+" of import_playbook")
		}
	}
}

// hosts is the pattern of a play.
func hosts(n *yaml.Node, problem func(string)) *yaml.Node {
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

// playKey writes a key that is called so here, too.
func playKey(p *play, key string, n *yaml.Node, problem func(int, string, ...any)) {
	switch {
	case yamlnode.HasJinja(n) || slices.ContainsFunc(yamlnode.Items(n), yamlnode.HasJinja):
		problem(n.Line, "%s of a play that is an expression", key)
	case key == "tags":
		p.set(key, layout.Flowed(yamlnode.Texts(yamlnode.Names(n)...)))
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
	r := p.tasks
	if p.vars != nil && p.vars.Kind != yaml.MappingNode {
		problem(p.vars.Line, "vars that are no map")
		p.vars = nil
	}
	for _, one := range yamlnode.Items(files) {
		path := filepath.Join(r.Dir, one.Value)
		if one.Kind != yaml.ScalarNode || yamlnode.HasJinja(one) || !c.out.From.IsFile(path) {
			problem(one.Line, "the file of variables %s, which is not there or known only to a host", expression.Shortened(one.Value))
			continue
		}
		to := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(one.Value)), filepath.Ext(one.Value)) + ".yaml"
		if strings.HasPrefix(to, "..") {
			to = "vars-" + filepath.Base(to)
		}
		before := len(r.Files)
		r.ReadDataFile(path, to)
		if len(r.Files) > before {
			p.files = append(p.files, r.Files[before:]...)
			r.Files = r.Files[:before]
		}
	}
	if p.vars != nil {
		for i := 0; i+1 < len(p.vars.Content); i += 2 {
			r.Data[p.vars.Content[i].Value] = p.vars.Content[i+1]
			c.out.Variables[p.vars.Content[i].Value] = true
		}
	}
}

// playRoles has a play apply its roles.
func (c *converter) playRoles(p *play, n *yaml.Node, problem func(int, string, ...any)) {
	seen := map[*unit]bool{}
	for _, one := range yamlnode.Items(n) {
		name := roleName(one)
		if name == nil || name.Kind != yaml.ScalarNode {
			problem(one.Line, "a role without a name")
			continue
		}
		found := ""
		if !yamlnode.HasJinja(name) {
			found = c.findRole(name.Value, p.tasks.Dir, p.tasks)
		}
		if found == "" {
			problem(one.Line, "the role %s, which is not there", name.Value)
			p.entries[len(p.entries)-1].Does = nil
			continue
		}
		r := c.readRole(found)
		var all []*layout.Entry
		for _, dep := range c.needed(r) {
			if dep != r && seen[dep] {
				continue
			}
			seen[dep] = true
			list := applies([]*unit{dep})
			all = append(all, list...)
			if dep == r && one.Kind == yaml.MappingNode && len(list) > 0 {
				c.roleKeys(p, r, all, one, problem)
			}
			p.roles = append(p.roles, dep)
			p.entries = append(p.entries, list...)
		}
	}
	checkHandlers(p, c.out)
}

// checkHandlers reports handlers of one name in several roles: Ansible runs the last one, whichever role notifies it.
func checkHandlers(p *play, out *output.Output) {
	first, owners := map[string]*handler{}, map[string]*unit{}
	for _, r := range p.roles {
		for _, h := range r.handlers {
			switch old := first[h.name]; {
			case h.name == "" || owners[h.name] == r:
			case old == nil:
				first[h.name], owners[h.name] = h, r
			case string(yamlnode.Encode(old.node)) != string(yamlnode.Encode(h.node)) && (old.notified || h.notified):
				p.todoOfData(out, h.file, h.node.Line, fmt.Sprintf("the handler %q, which the roles %s and %s have: Ansible runs the one of %s for both", h.name, owners[h.name].Name, r.Name, r.Name))
			}
		}
	}
}

// roleKeys writes the other keys of a role of a play. The last entry of list applies the role, the others the roles that it
// depends on.
func (c *converter) roleKeys(p *play, r *unit, list []*layout.Entry, n *yaml.Node, problem func(int, string, ...any)) {
	f := p.tasks.File(p.path)
	t := c.tasks.NewBlock(f, n, f.Scope(), task.Around{})
	e := list[len(list)-1]
	params := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		switch key {
		case "role", "name":
		case "tags":
			e.Set("tags", yamlnode.Texts(yamlnode.Names(v)...))
		case "when":
			conditions, err := t.W.Conditions(v)
			if err != nil {
				problem(v.Line, "%v", err)
				continue
			}
			e.Set("control", task.Control(conditions))
		case "become":
			if b, _ := yamlnode.BoolOf(v); b {
				p.tasks.Became = true
			}
		case "vars":
			if v.Kind == yaml.MappingNode {
				params.Content = append(params.Content, v.Content...)
				p.shared = append(p.shared, v)
				p.sharedBy = append(p.sharedBy, r)
			}
		case "port": // of the connection, as at a play; it is no parameter
			c.out.Report.Note(c.out.Shown(p.path), v.Line, key+": "+withoutMeaning[key])
		case "collections", "debugger", "diff":
		case "delegate_to", "become_user", "become_method", "become_flags", "become_exe", "environment", "delegate_facts", "no_log", "run_once", "any_errors_fatal", "ignore_errors",
			"ignore_unreachable", "check_mode", "connection", "module_defaults", "remote_user", "throttle", "timeout":
			problem(v.Line, "%s of a role", key)
		default:
			params.Content = append(params.Content, n.Content[i], v)
		}
	}
	vars := task.Vars(params, n, t)
	for _, why := range t.Problems {
		problem(n.Line, "%s", why)
	}
	if vars == nil {
		return
	}
	for _, e := range list { // roles that the role depends on see its parameters
		e.Set("vars", vars)
	}
}

// allRoles are the roles of a play, and those that they apply themselves.
func (p *play) allRoles() []*unit {
	var list []*unit
	var add func(r *unit)
	add = func(r *unit) {
		if r == nil || slices.Contains(list, r) {
			return
		}
		for _, other := range r.uses {
			add(other)
		}
		list = append(list, r)
	}
	for _, r := range p.roles {
		add(r)
	}
	if p.tasks != nil {
		for _, r := range p.tasks.uses {
			add(r)
		}
	}
	return list
}

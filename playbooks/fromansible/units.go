package fromansible

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A unit is a role, or the tasks of a play, with what becomes of it.
type unit struct {
	*role.Role
	c        *converter
	made     map[string]*manifestFile // of files of tasks, by their paths
	handlers []*handler
	pending  []*notification
	needs    []string // folders of the roles that its meta depends on
	uses     []*unit  // roles that its tasks apply

	sets map[string]*yaml.Node // variables that its tasks set; the value is nil unless it is always the same
}

// A manifestFile is one that is made of a file of tasks.
type manifestFile struct {
	path    string // below the folder that is written
	source  string // the file of tasks
	entries []*layout.Entry
	done    bool // it is begun
	read    bool

	notifies bool // a task of it notifies a handler
}

func (c *converter) newUnit(name, dir, out string) *unit {
	return &unit{c: c, Role: c.newRole(name, dir, out), made: map[string]*manifestFile{}, sets: map[string]*yaml.Node{}}
}

func (c *converter) newRole(name, dir, out string) *role.Role {
	return role.New(name, dir, out, role.Around{To: c.out, Inventory: c.o.Variables, Beside: c.beside, Certain: c.certain.asks, Known: c.certain.known, Apart: c.certain.apart})
}

// reader reads a file of a unit.
func (u *unit) reader(path string) reader { return reader{u, u.File(path)} }

// readRole converts a role, once.
func (c *converter) readRole(dir string) *unit {
	dir = filepath.Clean(dir)
	dir = c.out.From.Real(dir)
	if u, ok := c.units[dir]; ok {
		return u
	}
	name := filepath.Base(dir)
	u := c.newUnit(name, dir, c.outOf(dir))
	c.units[dir] = u
	u.dependencies()
	u.ReadData()
	u.readHandlers(filepath.Join(dir, "handlers", "main"))
	tasks := filepath.Join(dir, "tasks")
	for _, path := range append([]string{u.c.out.From.YAMLFile(filepath.Join(tasks, "main"))}, role.TaskFiles(c.out.From, tasks)...) {
		if path != "" { // those that nothing includes by a name that is known, too: others may
			u.tasksFile(path)
		}
	}
	u.finishRole()
	return u
}

// outOf returns the folder for a role: its name, after the names of the folders around it if another role is called so.
func (c *converter) outOf(dir string) string {
	taken := func(out string) bool {
		for _, u := range c.units {
			if u.Out == out {
				return true
			}
		}
		return false
	}
	out := "roles/" + filepath.Base(dir)
	for taken(out) {
		dir = filepath.Dir(dir)
		out = "roles/" + filepath.Base(dir) + "-" + strings.TrimPrefix(out, "roles/")
	}
	return out
}

// dependencies notes the roles that a role's meta depends on.
func (u *unit) dependencies() {
	path := u.c.out.From.YAMLFile(filepath.Join(u.Dir, "meta", "main"))
	if path == "" {
		return
	}
	f := u.File(path)
	meta, err := u.c.out.ReadYAML(path)
	if err != nil {
		f.Leave(1, "meta", err.Error())
		return
	}
	leave := func(dep *yaml.Node, why, written string, source *yaml.Node) {
		f.Leave(dep.Line, "dependencies", why)
		main := u.main()
		main.entries = append(main.entries, layout.Todo(f.Position(dep.Line), written, source))
	}
	for _, dep := range yamlnode.Items(yamlnode.Get(meta, "dependencies")) {
		name := roleName(dep)
		if name == nil {
			continue
		}
		found := u.c.findRole(name.Value, u.Dir, u)
		switch {
		case found == "":
			leave(dep, fmt.Sprintf("the role %s is not there", name.Value), fmt.Sprintf("the role %s, on which this one depends, is not there", name.Value), nil)
		case dep.Kind == yaml.MappingNode && len(dep.Content) > 2:
			why := fmt.Sprintf("the role %s with variables or conditions of its own", name.Value)
			leave(dep, why, why, dep)
		default:
			u.needs = append(u.needs, found)
		}
	}
}

// roleName is the name of a role, which is written by itself or with keys beside it; nil if there is none.
func roleName(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return n
	}
	if name := yamlnode.Get(n, "role"); name != nil {
		return name
	}
	return yamlnode.Get(n, "name")
}

// mentions reports whether tasks, templates or variables of the unit contain a name.
func (u *unit) mentions(name string) bool {
	return !u.File(u.Dir).OnlyHere(name)
}

// main is the manifest of a role's main tasks.
func (u *unit) main() *manifestFile {
	if u.made["main"] == nil {
		u.made["main"] = &manifestFile{path: u.Out + "/manifest.yaml"}
	}
	return u.made["main"]
}

// needed are a role and those it depends on, these first.
func (c *converter) needed(r *unit) []*unit {
	var list []*unit
	seen := map[*unit]bool{}
	var add func(r *unit)
	add = func(r *unit) {
		if seen[r] { // also of roles that depend on one another
			return
		}
		seen[r] = true
		for _, dir := range r.needs {
			if dep := c.readRole(dir); dep != nil {
				add(dep)
			}
		}
		list = append(list, r)
	}
	add(r)
	return list
}

// applies are the entries that apply roles.
func applies(roles []*unit) []*layout.Entry {
	var list []*layout.Entry
	for _, r := range roles {
		if r.made["main"] != nil && hasResources(r.made["main"].entries) {
			list = append(list, &layout.Entry{Type: "apply", Name: r.Out})
		}
	}
	return list
}

// findRole finds the folder of a role by its name, which a file in a folder of another one says; "" if there is none.
func (c *converter) findRole(name, from string, by *unit) string {
	if strings.Contains(name, "/") && role.Is(c.out.From, filepath.Join(from, name)) {
		return filepath.Join(from, name)
	}
	short := name
	if parts := strings.Split(name, "."); len(parts) == 3 {
		short = parts[2]
	}
	places := []string{filepath.Join(from, "roles"), filepath.Join(c.out.Root, "roles"), filepath.Join(c.out.Root, "ansible", "roles"), c.out.Root, filepath.Join(from, "..", "roles"), filepath.Join(from, "..", "..", "roles")}
	if by.Name != "" {
		places = append(places, filepath.Dir(by.Dir))
	}
	if parts := strings.Split(name, "."); len(parts) == 3 {
		places = slices.Insert(places, 0, filepath.Join(c.out.Root, "collections", "ansible_collections", parts[0], parts[1], "roles"))
	}
	for _, place := range places {
		for _, n := range []string{name, short} {
			if role.Is(c.out.From, filepath.Join(place, n)) {
				return filepath.Clean(filepath.Join(place, n))
			}
		}
	}
	return ""
}

// tasksFile converts a file of tasks, once.
func (u *unit) tasksFile(path string) *manifestFile {
	rel, err := filepath.Rel(filepath.Join(u.Dir, "tasks"), path)
	if err != nil || strings.HasPrefix(rel, "..") {
		rel = filepath.Base(path)
	}
	key := strings.TrimSuffix(filepath.ToSlash(rel), filepath.Ext(rel))
	m := u.made[key]
	if m == nil {
		name := strings.ReplaceAll(key, "/", "-") + ".yaml"
		if key == "main" {
			name = "manifest.yaml"
		} else if name == "manifest.yaml" || name == "defaults.yaml" || name == "vars.yaml" || name == "facts.yaml" || u.Out == "" {
			name = "tasks-" + name
		}
		m = &manifestFile{path: u.Below(name)}
		u.made[key] = m
	}
	m.source = path
	if m.done {
		return m
	}
	m.done = true
	n, err := u.c.out.ReadYAML(path)
	r := u.reader(path)
	switch {
	case err != nil:
		r.f.Leave(1, "file", err.Error())
		m.entries = append(m.entries, layout.Todo(r.f.Position(1), err.Error(), nil))
	case n != nil && n.Kind == yaml.SequenceNode:
		m.entries = append(m.entries, r.tasks(n, r.f.Scope(), task.Around{})...)
	}
	m.read = true
	return m
}

// finishRole writes the manifests of a role, with its handlers behind the main tasks.
func (u *unit) finishRole() {
	main := u.main()
	main.entries = append(main.entries, u.flush(main.entries)...)
	main.read = true
	u.unusedHandlers()
	u.CopyAll()
	u.writeMade()
}

// writeMade writes the manifests that are made of files of tasks.
func (u *unit) writeMade() {
	keys := slices.Sorted(maps.Keys(u.made))
	for _, key := range keys {
		u.c.layout.NameTargets(u.made[key].entries)
	}
	for _, key := range keys {
		if m := u.made[key]; hasResources(m.entries) {
			n := yamlnode.Map("ccm", u.c.layout.CCM(m.entries))
			if u.Own != nil {
				n.Content = append([]*yaml.Node{yamlnode.Text("data"), u.Own}, n.Content...)
			}
			u.c.out.SaveYAML(m.path, n)
		}
	}
}

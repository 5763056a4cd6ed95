package fromansible

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Options are what a conversion is told.
type Options struct {
	Types     modules.Registry
	Variables map[string]any // of the inventory: what is known there goes over what plays say
}

// A File is one that is written.
type File struct {
	Content []byte
	Mode    fs.FileMode
}

// A Conversion is what comes out.
type Conversion struct {
	Files  map[string]File // by path, below the folder that is written
	Report Report
}

// Convert carries over a playbook, a role, or a folder with playbooks and roles.
func Convert(path string, o Options) (*Conversion, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := &converter{
		o: o, out: &Conversion{Files: map[string]File{}}, roles: map[string]*role{}, registered: map[string]int{}, plays: map[string]string{},
	}
	c.out.Report.init()
	switch {
	case !info.IsDir():
		c.root = filepath.Dir(path)
		if isFolder(filepath.Join(c.root, "..", "roles")) && !isFolder(filepath.Join(c.root, "roles")) {
			c.root = filepath.Join(c.root, "..")
		}
		err = c.playbook(path)
	case isRole(path):
		c.root = filepath.Dir(filepath.Clean(path))
		err = c.roleAlone(path)
	default:
		c.root = path
		err = c.folder(path)
	}
	if err != nil {
		return nil, err
	}
	c.copyVariables()
	return c.out, nil
}

type converter struct {
	o     Options
	root  string // the folder of the input, from which paths of reports are seen
	out   *Conversion
	roles map[string]*role  // by their folders; nil while one is read
	plays map[string]string // the manifests of playbooks, by their files

	role       *role // whose tasks are read; that of a play has no name
	registered map[string]int
	results    map[string]*expression.Result
	values     map[string]*j2.Expr
	taskFile   string // the file of the tasks that are read

	layout layout.Writer
}

// A role is a folder with tasks, templates and files. What stands beside a playbook is one
// without a name.
type role struct {
	name string
	dir  string // where it is
	out  string // where what becomes of it is, below the folder that is written; "" for the top

	data           map[string]*yaml.Node // of defaults and vars
	varsFile       []string              // files of data that are written
	handlers       []*handler
	asked          map[string][]string // what is asked of the results of stat
	facts          map[string]*setFact
	values         map[string]*j2.Expr
	results        map[string]*expression.Result
	made           map[string]*manifestFile // of files of tasks, by their paths
	files          bool                     // they are copied
	needs          []string                 // folders of the roles that its meta depends on
	setVars        []setVar
	pending        []*notification
	usedRoles      []*role
	moduleDefaults *yaml.Node // of a play
	text           string     // of all its tasks
	became         bool       // a task of it asks for root
}

// A manifestFile is one that is made of a file of tasks.
type manifestFile struct {
	path    string // below the folder that is written
	entries []*layout.Entry
	done    bool // it is begun
	read    bool
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// yamlFile finds a file with one of the endings of YAML, or as it is called.
func yamlFile(path string) string {
	for _, ending := range []string{"", ".yml", ".yaml", ".json"} {
		if isFile(path + ending) {
			return path + ending
		}
	}
	return ""
}

func isRole(path string) bool {
	for _, part := range []string{"tasks", "handlers", "defaults", "meta"} {
		if yamlFile(filepath.Join(path, part, "main")) != "" {
			return true
		}
	}
	return false
}

// shown is a path as reports have it.
func (c *converter) shown(path string) string {
	if rel, err := filepath.Rel(c.root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// readYAML reads the one document of a file; nil if that is empty.
func (c *converter) readYAML(path string) (*yaml.Node, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(text), "$ANSIBLE_VAULT;") {
		return nil, errVault
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", c.shown(path), strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	return doc.Content[0], nil
}

var errVault = errors.New("a whole file that is encrypted")

// folder converts all playbooks and roles of a folder.
func (c *converter) folder(path string) error {
	books, err := filepath.Glob(filepath.Join(path, "*.y*ml"))
	if err != nil {
		return err
	}
	more, _ := filepath.Glob(filepath.Join(path, "playbooks", "*.y*ml"))
	found := false
	for _, book := range append(books, more...) {
		if n, err := c.readYAML(book); err == nil && isPlaybook(n) {
			found = true
			if err := c.playbook(book); err != nil {
				return err
			}
		}
	}
	roles, _ := filepath.Glob(filepath.Join(path, "roles", "*"))
	for _, dir := range roles {
		if isRole(dir) {
			found = true
			c.readRole(dir)
		}
	}
	if !found {
		return fmt.Errorf("%s has neither playbooks nor roles", path)
	}
	return nil
}

func isPlaybook(n *yaml.Node) bool {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return false
	}
	return slices.ContainsFunc(n.Content, func(p *yaml.Node) bool {
		return yamlnode.Get(p, "hosts") != nil || yamlnode.Get(p, "import_playbook") != nil || yamlnode.Get(p, "ansible.builtin.import_playbook") != nil
	})
}

// copyVariables copies group_vars and host_vars: they are read as they are.
func (c *converter) copyVariables() {
	for _, name := range []string{"group_vars", "host_vars"} {
		c.copyTree(filepath.Join(c.root, name), name)
	}
}

// maxFile bounds files that are copied; larger ones are named in the report.
const maxFile = 16 << 20

// copyTree copies a folder of the input, if it is there.
func (c *converter) copyTree(from, to string) {
	filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what is not there, or cannot be read, fails where it is used
		}
		rel, err := filepath.Rel(from, path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || !info.Mode().IsRegular() {
			return nil
		}
		if info.Size() > maxFile {
			c.out.Report.note(c.shown(path), 0, "is larger than 16 MiB and was not copied")
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			c.out.Files[filepath.ToSlash(filepath.Join(to, rel))] = File{text, info.Mode().Perm()}
		}
		return nil
	})
}

// roleAlone converts a role, and writes a play that applies it.
func (c *converter) roleAlone(dir string) error {
	r := c.readRole(dir)
	p := &play{name: r.name, hosts: yamlnode.Text("all")}
	p.roles = append(p.roles, c.needed(r)...)
	p.entries = append(p.entries, c.applies(p.roles)...)
	if r.became {
		p.set("become", yamlnode.Bool(true))
	}
	c.writePlays("site.yaml", []*play{p})
	return nil
}

// needed are a role and those it depends on, these first.
func (c *converter) needed(r *role) []*role {
	var list []*role
	for _, dir := range r.needs {
		if dep := c.readRole(dir); dep != nil && dep != r {
			for _, one := range c.needed(dep) {
				if !slices.Contains(list, one) {
					list = append(list, one)
				}
			}
		}
	}
	return append(list, r)
}

// applies are the entries that apply roles.
func (c *converter) applies(roles []*role) []*layout.Entry {
	var list []*layout.Entry
	for _, r := range roles {
		if r.made["main"] != nil && hasResources(r.made["main"].entries) {
			list = append(list, &layout.Entry{Type: "apply", Name: r.out})
		}
	}
	return list
}

// findRole finds the folder of a role by its name.
func (c *converter) findRole(name, from string) string {
	if strings.Contains(name, "/") && isRole(filepath.Join(from, name)) {
		return filepath.Join(from, name)
	}
	short := name
	if parts := strings.Split(name, "."); len(parts) == 3 {
		short = parts[2]
	}
	places := []string{filepath.Join(from, "roles"), filepath.Join(c.root, "roles"), filepath.Join(c.root, "ansible", "roles"), c.root, filepath.Join(from, "..", "roles"), filepath.Join(from, "..", "..", "roles")}
	if c.role != nil && c.role.name != "" {
		places = append(places, filepath.Dir(c.role.dir))
	}
	for _, place := range places {
		for _, n := range []string{name, short} {
			if isRole(filepath.Join(place, n)) {
				return filepath.Clean(filepath.Join(place, n))
			}
		}
	}
	return ""
}

// readRole converts a role, once.
func (c *converter) readRole(dir string) *role {
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if r, ok := c.roles[dir]; ok {
		return r
	}
	name := filepath.Base(dir)
	r := newRole(name, dir, "roles/"+name)
	c.roles[dir] = r
	c.inRole(r, func() {
		c.dependencies(r)
		c.roleData(r)
		c.survey(r)
		c.writeSetVars(r)
		c.readHandlers(r, filepath.Join(dir, "handlers", "main"))
		if path := yamlFile(filepath.Join(dir, "tasks", "main")); path != "" {
			c.tasksFile(path)
		}
		c.otherTasks(r)
		c.finishRole(r)
	})
	return r
}

func newRole(name, dir, out string) *role {
	return &role{
		name: name, dir: dir, out: out, data: map[string]*yaml.Node{}, asked: map[string][]string{}, facts: map[string]*setFact{},
		values: map[string]*j2.Expr{}, results: map[string]*expression.Result{}, made: map[string]*manifestFile{},
	}
}

// inRole has names mean what they do in a role.
func (c *converter) inRole(r *role, do func()) {
	role, results, values, file := c.role, c.results, c.values, c.taskFile
	c.role, c.results, c.values = r, r.results, r.values
	do()
	c.role, c.results, c.values, c.taskFile = role, results, values, file
}

func (c *converter) dependencies(r *role) {
	path := yamlFile(filepath.Join(r.dir, "meta", "main"))
	if path == "" {
		return
	}
	meta, err := c.readYAML(path)
	if err != nil {
		c.out.Report.left(c.shown(path), 1, "meta", err.Error())
		return
	}
	for _, dep := range yamlnode.Items(yamlnode.Get(meta, "dependencies")) {
		name := dep.Value
		if dep.Kind == yaml.MappingNode {
			n := yamlnode.Get(dep, "role")
			if n == nil {
				n = yamlnode.Get(dep, "name")
			}
			if n == nil {
				continue
			}
			name = n.Value
		}
		found := c.findRole(name, r.dir)
		switch {
		case found == "":
			c.out.Report.left(c.shown(path), dep.Line, "dependencies", fmt.Sprintf("the role %s is not there", name))
			c.tasksMain(r).entries = append(c.tasksMain(r).entries, layout.Todo(position(c.shown(path), dep.Line), fmt.Sprintf("the role %s, on which this one depends, is not there", name), nil))
		case dep.Kind == yaml.MappingNode && len(dep.Content) > 2:
			c.tasksMain(r).entries = append(c.tasksMain(r).entries, layout.Todo(position(c.shown(path), dep.Line), fmt.Sprintf("the role %s with variables or conditions of its own", name), dep))
			c.out.Report.left(c.shown(path), dep.Line, "dependencies", fmt.Sprintf("the role %s with variables or conditions of its own", name))
		default:
			r.needs = append(r.needs, found)
		}
	}
}

// tasksMain is the manifest of a role's main tasks.
func (c *converter) tasksMain(r *role) *manifestFile {
	if r.made["main"] == nil {
		r.made["main"] = &manifestFile{path: r.out + "/manifest.yaml"}
	}
	return r.made["main"]
}

// otherTasks converts files of tasks that nothing in the role includes by a name that is
// known: others may.
func (c *converter) otherTasks(r *role) {
	var list []string
	filepath.WalkDir(filepath.Join(r.dir, "tasks"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".yml") || strings.HasSuffix(path, ".yaml")) {
			list = append(list, path)
		}
		return nil
	})
	for _, path := range list {
		c.tasksFile(path)
	}
}

// tasksFile converts a file of tasks of the role that is being read, once.
func (c *converter) tasksFile(path string) *manifestFile {
	r := c.role
	rel, err := filepath.Rel(filepath.Join(r.dir, "tasks"), path)
	if err != nil || strings.HasPrefix(rel, "..") {
		rel = filepath.Base(path)
	}
	key := strings.TrimSuffix(filepath.ToSlash(rel), filepath.Ext(rel))
	m := r.made[key]
	if m == nil {
		name := strings.ReplaceAll(key, "/", "-") + ".yaml"
		if key == "main" {
			name = "manifest.yaml"
		} else if name == "manifest.yaml" || name == "defaults.yaml" || name == "vars.yaml" || name == "facts.yaml" || r.out == "" {
			name = "tasks-" + name
		}
		m = &manifestFile{path: strings.TrimPrefix(r.out+"/"+name, "/")}
		r.made[key] = m
	}
	if m.done {
		return m
	}
	m.done = true
	n, err := c.readYAML(path)
	switch {
	case err != nil:
		c.out.Report.left(c.shown(path), 1, "file", err.Error())
		m.entries = append(m.entries, layout.Todo(position(c.shown(path), 1), err.Error(), nil))
		return m
	case n == nil:
		return m
	case n.Kind != yaml.SequenceNode:
		return m
	}
	before := c.taskFile
	c.taskFile = path
	scope := &expression.Scope{Names: map[string]expression.Binding{}, Files: c}
	m.entries = append(m.entries, c.tasks(n, scope, inherited{})...)
	c.taskFile = before
	m.read = true
	return m
}

// finishRole writes the manifests of a role, with its handlers behind the main tasks.
func (c *converter) finishRole(r *role) {
	main := c.tasksMain(r)
	main.entries = append(main.entries, c.flush(r, main.entries)...)
	main.read = true
	c.unusedHandlers(r)
	for _, m := range r.made {
		c.layout.NameTargets(m.entries)
	}
	for _, key := range sortedKeys(r.made) {
		m := r.made[key]
		if !hasResources(m.entries) {
			continue
		}
		c.writeManifest(m.path, m.entries)
	}
}

// Names are the paths of the files that are written, in order.
func (c *Conversion) Names() []string { return sortedKeys(c.Files) }

// writeManifest writes the manifest of a file of tasks.
func (c *converter) writeManifest(path string, entries []*layout.Entry) {
	c.out.Files[path] = File{yamlnode.Encode(yamlnode.Map("ccm", c.layout.CCM(entries))), 0o644}
}

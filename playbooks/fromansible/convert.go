package fromansible

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/repository"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Options are the settings of a conversion.
type Options struct {
	Types     modules.Registry
	Misread   []Misread      // values of the inventory
	Variables map[string]any // of the inventory: what is known there goes over what plays say
}

// A Misread is a value of the inventory that Ansible reads in another way than this program.
type Misread struct {
	File    string
	Line    int
	Message string
}

// A File is a file of the output.
type File = output.File

// Convert carries over a playbook, a role, or a folder with playbooks and roles.
//
// The end of ctx ends it at once, whatever it is reading.
func Convert(ctx context.Context, path string, o Options) (*output.Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	type result struct {
		out *output.Output
		err error
	}
	ended := make(chan result, 1)
	// Not all that is done with what was read looks at ctx. What goes on then writes nothing.
	go func() {
		out, err := convertAll(ctx, path, o)
		ended <- result{out, err}
	}()
	select {
	case r := <-ended:
		if ctx.Err() != nil { // both are ready
			return nil, context.Cause(ctx)
		}
		return r.out, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// maxTime is how long a conversion may take. Repositories of hundreds of roles take seconds.
const maxTime = 10 * time.Minute

var errTooLong = fmt.Errorf("the conversion takes longer than %v: convert the roles one by one to find out which one it is", maxTime)

func convertAll(ctx context.Context, path string, o Options) (*output.Output, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	root, convert := path, (*converter).folder
	switch {
	case !info.IsDir():
		root, convert = filepath.Dir(path), (*converter).playbook
		if isFolder(filepath.Join(root, "..", "roles")) && !isFolder(filepath.Join(root, "roles")) {
			root = filepath.Join(root, "..")
		}
	default:
		folder, err := repository.Open(ctx, path, func(string, string) {})
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		if role.Is(folder, path) {
			root, convert = filepath.Dir(filepath.Clean(path)), (*converter).roleAlone
		}
	}
	first, err := newConverter(ctx, root, o, certainty{})
	if err != nil {
		return nil, err
	}
	defer first.out.From.Close()
	if err := convert(first, path); err != nil {
		return nil, err
	}
	c := first
	if certain := first.certainty(); certain.any() {
		if c, err = newConverter(ctx, root, o, certain); err != nil {
			return nil, err
		}
		defer c.out.From.Close()
		if err := convert(c, path); err != nil {
			return nil, err
		}
	}
	for _, name := range besides {
		c.out.Copy(filepath.Join(root, name), name)
		asAnsible(c.out, name)
	}
	if ctx.Err() != nil { // then what could not be read is missing
		return nil, context.Cause(ctx)
	}
	c.out.Close()
	return c.out, nil
}

// asAnsible rewrites the plain values of copied files of variables that Ansible reads in another way: no becomes false.
func asAnsible(out *output.Output, folder string) {
	for _, name := range out.Names() {
		f := out.Files[name]
		if !strings.HasPrefix(name, folder+"/") {
			continue
		}
		text, left := yamlnode.AsAnsible(f.Content)
		f.Content = text
		out.Files[name] = f
		for _, line := range left {
			out.Report.Leave(name, line, "variables", "a value that Ansible reads in another way")
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A converter goes through playbooks and roles.
type converter struct {
	o       Options
	out     *output.Output
	units   map[string]*unit   // roles, by their folders
	plays   map[string]string  // the manifests of playbooks, by their files
	written map[string][]*play // by their manifests
	tasks   *task.Conversion
	certain certainty
	facts   []factOfPlay          // variables that earlier plays set
	beside  map[string]*yaml.Node // variables of the folders group_vars and host_vars

	layout layout.Writer
}

// besides are the folders of variables beside playbooks, which are read as they are.
var besides = []string{"group_vars", "host_vars"}

// newConverter is one that has read nothing. certain says which tasks are facts.
func newConverter(ctx context.Context, root string, o Options, certain certainty) (*converter, error) {
	out, err := output.New(ctx, root)
	if err != nil {
		return nil, err
	}
	c := &converter{
		o: o, out: out, units: map[string]*unit{}, plays: map[string]string{}, written: map[string][]*play{}, certain: certain, beside: map[string]*yaml.Node{},
		tasks: &task.Conversion{Types: o.Types, Certain: certain.tasks, Mixed: certain.mixed, Cache: certain.cache},
	}
	for _, name := range besides {
		for _, path := range c.out.From.Files(filepath.Join(root, name)) {
			n, _ := c.out.ReadYAML(path) // what is no YAML, or encrypted, says nothing here
			for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if name := n.Content[i].Value; !connection.IsSecretVariable(name) { // which are no data
					c.out.Variables[name] = true
					if c.beside[name] == nil || n.Content[i+1].Tag == "!!bool" { // another host may have a boolean
						c.beside[name] = n.Content[i+1]
					}
				}
			}
		}
	}
	return c, nil
}

// folder converts all playbooks and roles of a folder.
func (c *converter) folder(path string) error {
	books := c.out.From.Glob(filepath.Join(path, "*.y*ml"))
	more := c.out.From.Glob(filepath.Join(path, "playbooks", "*.y*ml"))
	found := false
	for _, book := range slices.Concat(books, more, deeper(path, c.out)) {
		if n, err := c.out.ReadYAML(book); err == nil && isPlaybook(n) {
			found = true
			c.facts = nil // of another playbook
			if err := c.playbook(book); err != nil {
				return err
			}
		}
	}
	roles := c.out.From.Glob(filepath.Join(path, "roles", "*"))
	for _, dir := range roles {
		if role.Is(c.out.From, dir) {
			found = true
			c.readRole(dir)
		}
	}
	if !found {
		return fmt.Errorf("%s has neither playbooks nor roles", path)
	}
	return nil
}

// noPlaybooks are folders without playbooks for hosts.
var noPlaybooks = []string{"roles", "collections", "molecule", "tests", "tasks", "handlers", "vars", "defaults", "templates", "files", "group_vars", "host_vars"}

// deeper returns the files of YAML in folders below.
func deeper(path string, out *output.Output) (list []string) {
	for _, file := range role.TaskFiles(out.From, path) {
		folders := strings.Split(filepath.ToSlash(filepath.Dir(out.Shown(file))), "/")
		if folders[0] != "." && !slices.ContainsFunc(folders, func(name string) bool { return slices.Contains(noPlaybooks, name) || strings.HasPrefix(name, ".") }) {
			list = append(list, file)
		}
	}
	return list
}

func isPlaybook(n *yaml.Node) bool {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return false
	}
	return slices.ContainsFunc(n.Content, func(p *yaml.Node) bool {
		return yamlnode.Get(p, "hosts") != nil || yamlnode.Get(p, "import_playbook") != nil || yamlnode.Get(p, "ansible.builtin.import_playbook") != nil
	})
}

// roleAlone converts a role, and writes a play that applies it.
func (c *converter) roleAlone(dir string) error {
	r := c.readRole(dir)
	p := &play{name: r.Name, hosts: yamlnode.Text("all"), roles: c.needed(r)}
	p.entries = append(p.entries, applies(p.roles)...)
	if r.Became {
		p.set("become", yamlnode.Bool(true))
	}
	c.writePlays("site.yaml", []*play{p})
	return nil
}

package fromansible

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Options are what a conversion is told.
type Options struct {
	Types     modules.Registry
	Variables map[string]any // of the inventory: what is known there goes over what plays say
}

// A File is one that is written.
type File = output.File

// Convert carries over a playbook, a role, or a folder with playbooks and roles.
func Convert(path string, o Options) (*output.Output, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	root, convert := path, (*converter).folder
	switch {
	case !info.IsDir():
		root, convert = filepath.Dir(path), (*converter).playbook
		if role.IsFolder(filepath.Join(root, "..", "roles")) && !role.IsFolder(filepath.Join(root, "roles")) {
			root = filepath.Join(root, "..")
		}
	case role.Is(path):
		root, convert = filepath.Dir(filepath.Clean(path)), (*converter).roleAlone
	}
	first := newConverter(root, o, certainty{})
	if err := convert(first, path); err != nil {
		return nil, err
	}
	c := first
	if certain := first.certainty(); certain.any() {
		c = newConverter(root, o, certain)
		if err := convert(c, path); err != nil {
			return nil, err
		}
	}
	for _, name := range besides {
		c.out.Copy(filepath.Join(root, name), name)
	}
	return c.out, nil
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

	layout layout.Writer
}

// besides are the folders of variables beside playbooks, which are read as they are.
var besides = []string{"group_vars", "host_vars"}

// newConverter is one that has read nothing. certain says which tasks are facts.
func newConverter(root string, o Options, certain certainty) *converter {
	c := &converter{
		o: o, out: output.New(root), units: map[string]*unit{}, plays: map[string]string{}, written: map[string][]*play{}, certain: certain,
		tasks: &task.Conversion{Types: o.Types, Certain: certain.tasks},
	}
	for _, name := range besides {
		filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				n, _ := c.out.ReadYAML(path) // what is no YAML, or encrypted, says nothing here
				for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
					if name := n.Content[i].Value; !connection.IsSecretVariable(name) { // which are no data
						c.out.Variables[name] = true
					}
				}
			}
			return nil
		})
	}
	return c
}

// folder converts all playbooks and roles of a folder.
func (c *converter) folder(path string) error {
	books, err := filepath.Glob(filepath.Join(path, "*.y*ml"))
	if err != nil {
		return err
	}
	more, _ := filepath.Glob(filepath.Join(path, "playbooks", "*.y*ml"))
	found := false
	for _, book := range append(books, more...) {
		if n, err := c.out.ReadYAML(book); err == nil && isPlaybook(n) {
			found = true
			if err := c.playbook(book); err != nil {
				return err
			}
		}
	}
	roles, _ := filepath.Glob(filepath.Join(path, "roles", "*"))
	for _, dir := range roles {
		if role.Is(dir) {
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

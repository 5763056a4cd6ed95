package inventory

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// The folders of variables that stand beside an inventory or a manifest.
const (
	groupVarsFolder = "group_vars"
	hostVarsFolder  = "host_vars"
)

// A varFile is what a file in group_vars or host_vars says.
type varFile struct {
	folder int // index in builder.folders
	layer  layer
}

// A varFolder may have group_vars and host_vars in it.
type varFolder struct {
	path  string
	owner int // uid of what the operator named: the inventory, or the folder of a manifest
}

// addFolder takes a folder to look for variables in. One that is there already
// moves up, so that each is read once and has the last word it would have had.
func (b *builder) addFolder(path, named string) {
	info, err := os.Stat(named)
	if err != nil {
		return // there is nothing to find in it, or reading named tells of it
	}
	f := varFolder{path: path, owner: ownerOf(info)}
	b.folders = slices.DeleteFunc(b.folders, func(known varFolder) bool { return sameFolder(known.path, path) })
	b.folders = append(b.folders, f)
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// varFiles reads what group_vars and host_vars have for the groups and hosts that
// there are.
func (b *builder) varFiles() {
	for i, folder := range b.folders {
		groups := b.openVars(folder, groupVarsFolder)
		for _, g := range b.inv.groups {
			for _, path := range groups.find(b, g.Name) {
				g.files = append(g.files, varFile{i, b.varFile(folder, path, true)})
			}
		}
		hosts := b.openVars(folder, hostVarsFolder)
		for _, h := range b.everyHost() {
			for _, path := range hosts.find(b, h.Name) {
				h.files = append(h.files, varFile{i, b.varFile(folder, path, false)})
			}
		}
	}
}

// varNames is a folder group_vars or host_vars.
type varNames struct {
	in    varFolder
	path  string
	names map[string]bool // what is in it; nil if there is no such folder
}

func (b *builder) openVars(in varFolder, name string) varNames {
	v := varNames{in: in, path: filepath.Join(in.path, name)}
	info, err := os.Stat(v.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v
	case err != nil:
		b.errs.Add(reading(v.path, err))
		return v
	case !info.IsDir():
		b.notes.add(textNode(v.path, ""), "is no folder, and is not read")
		return v
	}
	entries, err := b.listVars(in, v.path, info)
	if err != nil {
		b.errs.Add(err)
		return v
	}
	v.names = make(map[string]bool, len(entries))
	for _, e := range entries {
		v.names[e.Name()] = true
	}
	return v
}

func (b *builder) listVars(in varFolder, path string, info fs.FileInfo) ([]fs.DirEntry, error) {
	if err := in.check(path, info); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, reading(path, err)
	}
	return entries, nil
}

// varSuffixes are those of var files, in the order in which they are looked for.
var varSuffixes = []string{"", ".yml", ".yaml", ".json"}

// find lists the var files of a group or host: the first of NAME, NAME.yml,
// NAME.yaml and NAME.json that exists, or what is in it if it is a folder.
func (v varNames) find(b *builder, name string) []string {
	for _, suffix := range varSuffixes {
		if !v.names[name+suffix] {
			continue
		}
		path := filepath.Join(v.path, name+suffix)
		info, err := os.Stat(path)
		switch {
		case err != nil: // a symbolic link that leads nowhere
			continue
		case info.IsDir():
			return b.walkVars(v.in, path, info, 0)
		}
		return []string{path}
	}
	return nil
}

// maxVarDepth bounds folders in folders of variables, symbolic links followed.
const maxVarDepth = 20

// walkVars lists the var files in a folder and the folders in it, by name: files
// without an extension or with one of those of YAML and JSON, and folders without
// one, but nothing hidden and no backups.
func (b *builder) walkVars(in varFolder, dir string, info fs.FileInfo, depth int) []string {
	if depth > maxVarDepth {
		b.errs.Add(&yamlpos.Error{File: dir, Msg: "folders of variables are nested too deep", Hint: "does a symbolic link lead in a circle?"})
		return nil
	}
	entries, err := b.listVars(in, dir, info)
	if err != nil {
		b.errs.Add(err)
		return nil
	}
	var found []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		suffix := filepath.Ext(name)
		switch {
		case err != nil: // a symbolic link that leads nowhere
		case info.IsDir() && suffix == "":
			found = append(found, b.walkVars(in, path, info, depth+1)...)
		case info.Mode().IsRegular() && slices.Contains(varSuffixes, suffix):
			found = append(found, path)
		}
	}
	return found
}

// varFile reads one file. What is wrong with it is noted.
func (b *builder) varFile(in varFolder, path string, ofGroup bool) (l layer) {
	data, err := in.read(path)
	if err != nil {
		b.errs.Add(err)
		return l
	}
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;")) {
		b.errs.Add(&yamlpos.Error{
			File: path, Line: 1, Column: 1, Msg: "the file is encrypted by ansible-vault, which is not read",
			Hint: `decrypt it outside: a second -i SCRIPT may print the passwords of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say), and -e @FILE gives variables`,
		})
		return l
	}
	documents, err := parseYAML(path, data)
	if err != nil {
		b.errs.Add(err)
		return l
	}
	switch {
	case len(documents) == 0 || len(documents) == 1 && isNull(documents[0]):
		return l
	case len(documents) > 1:
		b.errs.Add(documents[1].Errorf("remove the --- between them", "a file of variables is one document, not %d", len(documents)))
		return l
	case documents[0].Kind != yamlpos.Map:
		b.errs.Add(documents[0].Errorf("write a map: name: value", "a file of variables is a map, not %s", documents[0].Describe()))
		return l
	}
	vars := documents[0]
	if priority := vars.Get(priorityKey); ofGroup && priority != nil {
		b.notes.add(priority, "%s only counts in an inventory, below vars:", priorityKey)
		vars = withoutPriority(vars)
	}
	b.variablesAndConnect(&l, vars)
	return l
}

// parseYAML reads YAML as Ansible writes it.
func parseYAML(path string, data []byte) ([]*yamlpos.Node, error) {
	return yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"))
}

// read takes a regular file only, and not one that somebody else has put there.
func (in varFolder) read(path string) ([]byte, error) {
	// Opening a pipe without O_NONBLOCK would wait for somebody to write to it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, reading(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, reading(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &yamlpos.Error{File: path, Msg: "is no regular file"}
	}
	if err := in.check(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, reading(path, err)
	}
	return data, nil
}

// check refuses what somebody else may have put beside an inventory or manifest
// that the operator has named. If everybody can write to the folder, as on file
// systems without owners, the operator trusts everybody already.
func (in varFolder) check(path string, info fs.FileInfo) error {
	around, err := os.Stat(in.path)
	if err != nil {
		return reading(in.path, err)
	}
	if around.Mode().Perm()&0o002 != 0 && around.Mode()&fs.ModeSticky == 0 {
		return nil
	}
	owner := ownerOf(info)
	switch {
	case owner != 0 && owner != os.Geteuid() && owner != in.owner:
		return &yamlpos.Error{
			File: path, Msg: "belongs to another user, who could change what is run",
			Hint: "if you trust it, make it yours: chown, or copy the folder",
		}
	case info.Mode().Perm()&0o002 != 0:
		return &yamlpos.Error{File: path, Msg: "can be written to by every user, who could change what is run", Hint: "chmod o-w " + path}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}

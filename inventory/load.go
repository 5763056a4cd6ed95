package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Load reads the inventories named by -i and merges them in this order: if two set the same variable of the same group
// or host, the later one wins. A path is one of these:
//
//   - a file in YAML or in Ansible's INI format;
//   - a script, which begins with #! or is an executable program: it is
//     run with --list and prints JSON, see [docs/guide/inventory.md];
//   - a folder, whose files are read in the order of their names;
//   - a list of hosts with a comma in it ("web1,web2", or "web1,").
//
// The folders group_vars/ and host_vars/ next to each file, in each folder, and in o.Folders contain more variables.
//
// The end of ctx ends scripts and Load, which then returns an error that wraps the cause of ctx. Any other error is
// [yamlpos.Errors] and contains all problems of all inventories.
//
// [docs/guide/inventory.md]: https://github.com/ccm-push/ccm-push/blob/main/docs/guide/inventory.md
func Load(ctx context.Context, paths []string, o Options) (*Inventory, error) {
	b := newBuilder(o)
	if len(paths) == 0 {
		b.errs.Add(errors.New("no inventory is given"))
	}
	for _, path := range paths {
		b.errs.Add(b.load(ctx, path))
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading the inventory: %w", context.Cause(ctx))
	}
	for _, folder := range o.Folders {
		b.folders.Add(folder, folder)
	}
	return b.finish()
}

// Parse reads one inventory in YAML or in Ansible's INI format. file is only used in positions and for the format: a
// name that ends in .ini is INI.
func Parse(file string, data []byte) (*Inventory, error) {
	b := newBuilder(Options{})
	b.errs.Add(b.parse(file, data))
	return b.finish()
}

func (b *builder) load(ctx context.Context, path string) error {
	b.note(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(path, ","):
		b.hostList(path)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &yamlpos.Error{File: path, Msg: "no such file", Hint: "if " + path + " is the name of a host, add a comma: -i " + path + ","}
	case err != nil:
		return source.Error(path, err)
	case info.IsDir():
		b.folders.Add(path, path)
		b.folder(ctx, path)
		return nil
	}
	b.folders.Add(filepath.Dir(path), path)
	item, err := source.Named(ctx, path, info)
	if err != nil {
		return err
	}
	return b.item(ctx, item)
}

// note reports a file before it is read, or a folder before it is listed.
func (b *builder) note(path string) {
	if note := b.inv.options.Note; note != nil {
		note(path)
	}
}

// folder takes the inventories in a folder.
func (b *builder) folder(ctx context.Context, path string) {
	f := source.Folder{
		Path: path, Scripts: b.inv.options.AllowScripts,
		Note:   b.note,
		Others: []string{source.GroupVars, source.HostVars, "vars_plugins"},
	}
	for item, err := range f.Items(ctx) {
		if err == nil {
			err = b.item(ctx, item)
		}
		b.errs.Add(err)
	}
}

func (b *builder) item(ctx context.Context, item source.Item) error {
	switch {
	case item.Skipped != "":
		b.notes.add(yamlpos.TextFrom(item.Path, ""), "%s", item.Skipped)
		return nil
	case item.Script:
		return b.script(ctx, source.Script{Path: item.Path})
	}
	return b.parse(item.Path, item.Data)
}

// parse takes the text of a file, whatever its format.
func (b *builder) parse(file string, data []byte) error {
	by := b.inv.options.Opener
	text, sealed, err := yamlpos.Opened(by, file, data)
	if err != nil {
		return err
	}
	switch source.FormatOf(file, text) {
	case source.INI:
		if sealed {
			return &yamlpos.Error{File: file, Line: 1, Column: 1, Msg: "an INI inventory that is encrypted as a whole is not read", Hint: "write it as YAML, or only its variables: in group_vars, which may be encrypted"}
		}
		b.ini(file, data)
		return nil
	case source.TOML:
		return &yamlpos.Error{File: file, Msg: "TOML inventories are not supported", Hint: "write it as YAML: ansible-inventory -i " + file + " --list --yaml"}
	}
	documents, err := yamlpos.Parse(file, data, yamlpos.PlainTag("!unsafe"), yamlpos.KeepSealed(by), yamlpos.Secrets()) // as Ansible writes it
	switch {
	case err != nil:
		return err
	case len(documents) == 0:
		return &yamlpos.Error{File: file, Msg: "the inventory is empty", Hint: emptyHint}
	case len(documents) > 1:
		return documents[1].Errorf("remove the --- between them", "an inventory is one document, not %d", len(documents))
	}
	b.document(documents[0])
	return nil
}

const emptyHint = "an inventory is a map of groups: all: {hosts: {web1: }}"

// hostList takes the hosts of "web1,web2:2222,".
func (b *builder) hostList(list string) {
	group := b.group(ungrouped, nil)
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			b.hosts(group, yamlpos.TextFrom("-i "+list, name), nil)
		}
	}
}

// Options configure what [Load] reads in addition to the inventories, and what it accepts. The zero value is the strict
// choice. The comments name the flag that sets a field.
type Options struct {
	// Folders are the folders of the manifests. Their group_vars/ and host_vars/ override the ones next to the
	// inventories, and a later folder overrides an earlier one. The caller vouches for the folders: it must not name a
	// folder that another user has made.
	Folders []string
	// AllowScripts runs the scripts in an inventory directory. A script that is named
	// itself is run in any case. (--allow-inventory-scripts)
	AllowScripts bool
	// AllowNameClash makes it a warning that a host and a group have one name; a
	// pattern then means the host. (--allow-name-clash)
	AllowNameClash bool
	// AllowEmpty makes it a warning instead of an error that a pattern selects
	// nothing. (--allow-empty)
	AllowEmpty bool
	// AllowImplicitLocalhost lets the patterns localhost, 127.0.0.1 and ::1 mean this
	// machine, without SSH, if the inventory does not list it. It is never part of
	// all. (--allow-implicit-localhost)
	AllowImplicitLocalhost bool
	// StrictPatterns makes it an error that a term of a pattern matches nothing,
	// also if other terms do. (--strict-patterns)
	StrictPatterns bool
	// MergeMaps merges maps that several layers have under one name, key by key, instead of replacing the lower map
	// completely. Lists are replaced. It corresponds to Ansible's hash_behaviour=merge. (--merge-maps)
	MergeMaps bool
	// RecordedRun returns the hosts of a recorded run that ended in a state, for terms of limits such as @last:failed.
	// nil knows no runs.
	RecordedRun func(run, state string) (hosts []string, err error)
	// Opener opens encrypted values in inventories and files of variables; nil opens none.
	Opener yamlpos.Opener
	// Note is called for every file that is about to be read, and every folder that is listed or looked
	// for; it may be nil.
	Note func(path string)
}

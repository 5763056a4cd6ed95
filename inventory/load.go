package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Load reads the inventories that -i names and merges them in this order: where
// two set the same variable of the same group or host, the later one wins. A path
// is one of these:
//
//   - a file in YAML or in Ansible's INI format;
//   - a script, which has #! at its beginning or is an executable program: it is
//     run with --list and prints JSON, see [docs/inventory.md];
//   - a folder, whose files are read in the order of their names;
//   - a list of hosts with a comma in it ("web1,web2", or "web1,").
//
// Beside each file, in each folder, and in o.Folders, group_vars/ and host_vars/
// hold more variables.
//
// The end of ctx ends scripts, and with them Load, with an error that wraps its
// cause. Any other error is [yamlpos.Errors], everything that is wrong with all of
// them.
//
// [docs/inventory.md]: https://github.com/ccm-push/ccm-push/blob/main/docs/inventory.md
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
		b.addFolder(folder, folder)
	}
	return b.finish()
}

// Parse reads one inventory in YAML or in Ansible's INI format. file is only used
// in positions, and for the format: a name that ends in .ini says it.
func Parse(file string, data []byte) (*Inventory, error) {
	b := newBuilder(Options{})
	b.errs.Add(b.parse(file, data))
	return b.finish()
}

func (b *builder) load(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(path, ","):
		b.hostList(path)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &yamlpos.Error{File: path, Msg: "no such file", Hint: "a list of hosts has a comma in it: -i " + path + ","}
	case err != nil:
		return reading(path, err)
	case info.IsDir():
		b.addFolder(path, path)
		return b.folder(ctx, path, 0)
	}
	b.addFolder(filepath.Dir(path), path)
	return b.file(ctx, path, info, true)
}

// file takes one file. named is whether the operator has named it himself.
func (b *builder) file(ctx context.Context, path string, info fs.FileInfo, named bool) error {
	data, err := readFile(ctx, path, info)
	switch {
	case err != nil:
		return err
	case !isScript(data, info):
		return b.parse(path, data)
	case named || b.inv.options.AllowScripts:
		return b.script(ctx, path)
	}
	return &yamlpos.Error{
		File: path, Msg: "is a script, and those in a folder are not run unasked",
		Hint: "say --allow-inventory-scripts, or name it: -i " + path,
	}
}

// maxFile is how much of a file is read, in bytes. yamlpos refuses a file that
// is larger than its own bound, which is below this one.
const maxFile = 17 << 20

// readFile reads what info describes. Nobody may ever write to it, if it is a pipe:
// the end of ctx ends this too.
func readFile(ctx context.Context, path string, info fs.FileInfo) ([]byte, error) {
	open := os.Open
	if info.Mode()&fs.ModeNamedPipe != 0 {
		open = func(path string) (*os.File, error) { return openPipe(ctx, path) }
	}
	f, err := open(path)
	if err != nil {
		return nil, reading(path, err)
	}
	defer f.Close()
	// A file that takes no deadline does not have its reader wait.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
	defer stop()
	return readAll(f, path)
}

// openPipe is os.Open, which waits for somebody who opens the pipe for writing.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	type answer struct {
		f   *os.File
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		f, err := os.Open(path)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.f, a.err
	case <-ctx.Done():
	}
	// Nothing but a writer ends open(2). With O_RDWR we are one ourselves, whether or
	// not the other has come to wait. If we may not write, it is left waiting.
	if writer, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
		a := <-answers
		writer.Close()
		if a.err == nil {
			a.f.Close()
		}
	}
	return nil, context.Cause(ctx)
}

func readAll(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, reading(path, err)
	case info.IsDir():
		return nil, &yamlpos.Error{File: path, Msg: "is a folder, not a file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, reading(path, err)
	}
	return data, nil
}

// reading drops the path from the errors of package os, which the caller's
// position names already.
func reading(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &yamlpos.Error{File: path, Msg: "reading the inventory: " + err.Error()}
}

// parse takes the text of a file, whatever its format.
func (b *builder) parse(file string, data []byte) error {
	switch format(file, data) {
	case iniFormat:
		return b.ini(file, data)
	case tomlFormat:
		return &yamlpos.Error{File: file, Msg: "TOML inventories are not supported", Hint: "write it as YAML: ansible-inventory -i " + file + " --list --yaml"}
	}
	documents, err := parseYAML(file, data)
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
			b.hosts(group, textNode("-i "+list, name), nil)
		}
	}
}

// textNode is a text that stands in no file but came from source.
func textNode(source, text string) *yamlpos.Node {
	return &yamlpos.Node{File: source, Text: text, Value: text}
}

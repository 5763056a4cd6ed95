package inventory

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Load reads the inventories that -i names and merges them in this order: where
// two set the same variable of the same group or host, the later one wins. A
// path is a YAML file, or a list of hosts with a comma in it ("web1,web2", or
// "web1,"). Directories, scripts and INI files are refused.
//
// The error is [yamlpos.Errors], everything that is wrong with all of them.
func Load(paths []string) (*Inventory, error) {
	b := newBuilder()
	if len(paths) == 0 {
		b.errs.Add(errors.New("no inventory is given"))
	}
	for _, path := range paths {
		b.errs.Add(b.load(path))
	}
	return b.finish()
}

// Parse reads one YAML inventory. file is only used in positions.
func Parse(file string, data []byte) (*Inventory, error) {
	b := newBuilder()
	b.errs.Add(b.parse(file, data))
	return b.finish()
}

func (b *builder) load(path string) error {
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(path, ","):
		b.hostList(path)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &yamlpos.Error{File: path, Msg: "no such file", Hint: "a list of hosts has a comma in it: -i " + path + ","}
	case err != nil:
		return err
	case bytes.HasPrefix(data, []byte("#!")):
		return unsupported(path, "inventory scripts are")
	}
	return b.parse(path, data)
}

// maxFile is how much of a file is read, in bytes. yamlpos refuses a file that
// is larger than its own bound, which is below this one.
const maxFile = 17 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reading(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, reading(path, err)
	case info.IsDir():
		return nil, unsupported(path, "inventory directories are")
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

func unsupported(path, what string) error {
	return &yamlpos.Error{File: path, Msg: what + " not supported yet", Hint: "name a YAML file"}
}

// iniSection is how an INI inventory begins; in YAML it would be a list.
var iniSection = regexp.MustCompile(`(?m)\A(?:\s*(?:[#;].*)?\n)*\[[\w.:-]+\]\s*$`)

func (b *builder) parse(file string, data []byte) error {
	if filepath.Ext(file) == ".ini" || iniSection.Match(data) {
		return unsupported(file, "INI inventories are")
	}
	documents, err := yamlpos.Parse(file, data)
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

package parcel

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A picker adds the files that plays may read to a packer. An expression computes a name only when a worker compiles the play, so it adds
// all files that the expression can name: see docs/guide/workers.md#files-for-a-worker.
type picker struct {
	to    *packer
	texts func() []string           // values of the play's data and manifests, which may be names of files
	found map[*folderFiles][]string // texts that name a file or folder, by folder
}

// textsIn returns the texts that name a file or folder in a folder. Each is looked up once: there may be many texts and many computed names.
func (p *picker) textsIn(folder *folderFiles) []string {
	list, known := p.found[folder]
	if known {
		return list
	}
	for _, text := range p.texts() {
		if folder.has(text) {
			list = append(list, text)
		}
	}
	if p.found == nil {
		p.found = map[*folderFiles][]string{}
	}
	p.found[folder] = list
	return list
}

// The folders whose files go if an expression computes the whole name of a file.
const (
	templatesFolder = "templates"
	filesFolder     = "files"
)

// use adds what a play may read from one folder.
func (p *picker) use(u catalog.FolderUse) error {
	folder, err := p.to.open(u.Folder)
	if err != nil {
		return err
	}
	for _, name := range u.Read {
		if name == environFile { // it is read unasked
			continue
		}
		if err := folder.add(name, needed, "the play reads it"); err != nil {
			return err
		}
	}
	if u.Whole != "" {
		if err := folder.tree(u.Whole, needed, "hosts get all of this folder"); err != nil {
			return err
		}
	}
	for _, n := range u.Names {
		if err := p.name(folder, n); err != nil {
			return err
		}
	}
	return nil
}

const environFile = ".env"

const quotedText = "\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`"

var (
	quoted     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(quotedText) })
	onlyQuoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\(*(?:(?:file|readFile)\s+)?(` + quotedText + `)\)*$`)
	})
	firstQuoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\(*(?:(?:(?:file|readFile)\s+)?\(?printf?\s+(` + quotedText + `)|(` + quotedText + `)\s*[+~])`)
	})
	// twoQuoted matches the choice between two literal names.
	twoQuoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\?\s*(` + quotedText + `)\s*:\s*(` + quotedText + `)\s*\)*\s*(?:\}\}|\})?$`)
	})
	embedded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?\}\}|\$\{.*?\}`) })
)

func unquoted(text string) string { return text[1 : len(text)-1] }

// name adds the files that one name can be.
func (p *picker) name(folder *folderFiles, n manifest.FileName) error {
	if m := onlyQuoted().FindStringSubmatch(n.Text); n.Kind == manifest.Expression && m != nil {
		return folder.named(unquoted(m[1]), n, needed)
	}
	if !n.Computed {
		return folder.named(n.Text, n, needed)
	}
	prefix, suffix := "", ""
	if n.Kind == manifest.Expression {
		if m := firstQuoted().FindStringSubmatch(n.Text); m != nil {
			prefix, _, _ = strings.Cut(unquoted(m[1]+m[2]), "%")
		}
	} else {
		parts := embedded().Split(n.Text, -1)
		prefix, suffix = parts[0], parts[len(parts)-1]
	}
	why := "an expression chooses the name: " + n.At
	if below, _ := path.Split(prefix); below != "" {
		return folder.tree(below, unnamed, why)
	}
	if m := twoQuoted().FindStringSubmatch(n.Text); m != nil && prefix+suffix == "" {
		for _, one := range m[1:] {
			if err := folder.named(unquoted(one), n, needed); err != nil {
				return err
			}
		}
		return nil
	}
	ends := []string{prefix, suffix}
	for _, text := range quoted().FindAllString(n.Text, -1) {
		text = unquoted(text)
		below, _ := path.Split(text)
		switch {
		case folder.has(text):
			if err := folder.named(text, n, byValue); err != nil {
				return err
			}
		case below != "" && folder.has(below):
			if err := folder.tree(below, unnamed, why); err != nil {
				return err
			}
		case below == "":
			ends = append(ends, text)
		}
	}
	if err := folder.affixed(ends, why); err != nil {
		return err
	}
	for _, text := range p.textsIn(folder) {
		if err := folder.named(text, n, byValue); err != nil {
			return err
		}
	}
	for _, below := range []string{templatesFolder, filesFolder} {
		if err := folder.tree(below, unnamed, why); err != nil {
			return err
		}
	}
	return nil
}

// valuesOf returns the texts in a YAML, JSON or template source that may be names of files: quoted texts, and plain values of YAML.
func valuesOf(source string, to map[string]bool) {
	const longest = 1024 // bytes
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" && len(text) <= longest && filepath.IsLocal(text) {
			to[text] = true
		}
	}
	for _, at := range quoted().FindAllStringIndex(source, -1) {
		if !strings.HasPrefix(strings.TrimLeft(source[at[1]:min(len(source), at[1]+8)], " \t"), ":") { // else it is a key
			add(unquoted(source[at[0]:at[1]]))
		}
	}
	for line := range strings.Lines(source) {
		line, _, _ = strings.Cut(line, " #")
		for piece := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune(",[]{}\n\r", c) }) {
			if at := strings.LastIndex(piece, ": "); at >= 0 {
				piece = piece[at+2:]
			}
			piece = strings.TrimSpace(piece)
			for strings.HasPrefix(piece, "- ") {
				piece = strings.TrimSpace(piece[2:])
			}
			if !strings.HasPrefix(piece, "#") && !strings.HasSuffix(piece, ":") {
				add(strings.Trim(piece, `"'`))
			}
		}
	}
}

// values returns all texts of the play's data that may be names of files.
func (c *Contents) values(files []string) []string {
	all := map[string]bool{}
	read := func(path string) {
		if data, err := os.ReadFile(path); err == nil {
			valuesOf(string(data), all)
		}
	}
	for _, file := range files {
		read(file)
	}
	for _, u := range c.Folders {
		for _, name := range u.Read {
			if ext := path.Ext(name); name != environFile && (slices.Contains([]string{".yaml", ".yml", ".json", ".jet", ".templ", ".tmpl", ".gotmpl", ".j2"}, ext)) {
				read(filepath.Join(u.Folder, name))
			}
		}
	}
	if d := c.Recipe.Hiera; d != nil {
		valuesOf(string(d.Data), all)
	}
	seen := map[*yamlpos.Node]bool{}
	for _, n := range c.Values() {
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		if text, err := json.Marshal(n.Any()); err == nil {
			valuesOf(string(text), all)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// A folderFiles adds files of one folder, and nothing outside of it.
type folderFiles struct {
	to   *packer
	path string // absolute
	root *os.Root
}

// has reports whether there is a file or folder of that name.
func (f *folderFiles) has(name string) bool {
	if !filepath.IsLocal(name) {
		return false
	}
	_, err := f.root.Stat(filepath.FromSlash(path.Clean(name)))
	return err == nil
}

// named adds the file or folder that the play names.
func (f *folderFiles) named(text string, n manifest.FileName, by naming) error {
	why := "the play names it: " + n.At
	switch {
	case n.Kind == manifest.NestedText:
		return f.role(text, why)
	case !filepath.IsLocal(text):
		return nil // compiling refuses it
	case n.Kind == manifest.FolderText:
		return f.tree(text, by, why)
	}
	return f.add(path.Clean(text), by, why)
}

// role adds the folder of a manifest.
func (f *folderFiles) role(text, why string) error {
	where := text
	if !filepath.IsAbs(where) {
		where = filepath.Join(f.path, where)
	}
	info, err := os.Stat(where)
	switch {
	case err != nil:
		return nil // compiling reports it
	case info.IsDir():
		role, err := f.to.open(where)
		if err != nil {
			return err
		}
		return role.tree(".", unnamed, why)
	}
	return f.to.plain(where, why)
}

// add adds a file, or a folder with the links in it, if it is there.
func (f *folderFiles) add(name string, by naming, why string) error {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil
	}
	c := candidate{path: filepath.Join(f.path, name), name: filepath.ToSlash(name), root: f.root, info: info, by: by, why: why}
	if !info.IsDir() {
		return f.to.file(c)
	}
	if err := f.to.header(c.path, info, ""); err != nil {
		return err
	}
	entries, err := fs.ReadDir(f.root.FS(), c.name)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type() != fs.ModeSymlink {
			continue
		}
		below := filepath.Join(name, e.Name())
		target, err := f.root.Readlink(below)
		if _, lost := f.root.Stat(below); err != nil || lost != nil || filepath.IsAbs(target) || by == unnamed && isHidden(e.Name()) {
			continue
		}
		if info, err := f.root.Lstat(below); err == nil {
			f.to.links = append(f.to.links, link{filepath.Join(c.path, e.Name()), info, target})
		}
	}
	return nil
}

// tree adds all files below a folder. Hidden files are among them only if the play names the folder.
func (f *folderFiles) tree(name string, by naming, why string) error {
	name = path.Clean(name)
	if !f.has(name) {
		return nil
	}
	return fs.WalkDir(f.root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // no play can read it
		}
		if at != name && by == unnamed && isHidden(d.Name()) {
			f.to.keep(filepath.Join(f.path, at), "its name begins with a dot")
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if at != name && by == unnamed && slices.Contains(inventoryFolders, d.Name()) {
			return fs.SkipDir
		}
		if d.Type() == fs.ModeSymlink {
			if info, err := f.root.Stat(at); err != nil || info.IsDir() || by == needed {
				return nil // the folder that it is in adds it
			}
		}
		return f.add(at, by, why)
	})
}

// affixed adds files right in the folder whose name begins or ends with one of some texts.
func (f *folderFiles) affixed(texts []string, why string) error {
	texts = slices.DeleteFunc(texts, func(text string) bool { return len(text) < 2 || strings.Contains(text, "/") })
	if len(texts) == 0 {
		return nil
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || isHidden(e.Name()) || !slices.ContainsFunc(texts, func(text string) bool {
			return strings.HasPrefix(e.Name(), text) || strings.HasSuffix(e.Name(), text)
		}) {
			continue
		}
		if err := f.add(e.Name(), unnamed, why); err != nil {
			return err
		}
	}
	return nil
}

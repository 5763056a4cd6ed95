package manifest

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/document"
	"github.com/ccm-push/ccm-push/templates"
)

// WithParameters gives DSC configuration documents the values of a parameter file.
// That there is no such document among the files is then an error.
func WithParameters(path string) Option {
	g := &givenParameters{path: path}
	return func(l *loader) { l.parameters = g }
}

// givenParameters are a parameter file, read when a document is.
type givenParameters struct {
	path string
	used bool
}

// read gives the parameters; nil if there are none.
func (g *givenParameters) read() (*yamlpos.Node, error) {
	if g == nil {
		return nil, nil
	}
	g.used = true
	data, err := read(g.path, "parameter file")
	if err != nil {
		return nil, err
	}
	return oneDocument(g.path, data)
}

// oneDocument parses a file that holds one document.
func oneDocument(path string, data []byte) (*yamlpos.Node, error) {
	documents, err := yamlpos.Parse(path, withoutBOM(data))
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, (&yamlpos.Node{File: path, Line: 1, Column: 1}).Errorf("", "the file is empty")
	case len(documents) > 1:
		return nil, documents[1].Errorf("", "the file holds more than one document")
	}
	return documents[0], nil
}

// withoutBOM takes off the byte order mark that editors on Windows write.
func withoutBOM(data []byte) []byte {
	text, _ := strings.CutPrefix(string(data), "\ufeff")
	return []byte(text)
}

// configuration makes a play of a DSC configuration document.
func (l *loader) configuration(n *yamlpos.Node) []*Play {
	given, err := l.parameters.read()
	if err != nil {
		l.add(err)
		return nil
	}
	folder, shown := l.folder, filepath.Dir(l.file)
	doc, err := document.Read(l.runs, n, document.Options{
		Parameters: given, File: l.file, Now: time.Now, Type: l.documentType, Tells: l.tellsState,
		Open: func(at *yamlpos.Node, base, path string) (*yamlpos.Node, string, error) {
			return openBeside(folder, shown, at, base, path)
		},
	})
	if err != nil {
		l.add(err)
		return nil
	}
	p := &Play{
		Name: l.name, File: l.file, Folder: l.folder, Configuration: doc, registry: l.registry, nesting: l.nesting,
		Strategy: cmp.Or(l.ordered.strategy, linear), Parallel: l.ordered.parallel,
	}
	if p.Graph() {
		p.Parallel = cmp.Or(p.Parallel, defaultParallel)
	}
	l.graph = p.Graph()
	for _, instance := range doc.Instances {
		p.Resources = append(p.Resources, l.documentResource(instance))
	}
	if !l.isNested {
		l.references(p.Resources)
	}
	return []*Play{p}
}

// documentType finds a type by its name in a document, whatever the case of what
// comes before the slash.
func (l *loader) documentType(name string) (entry string, builtIn bool, hint string, ok bool) {
	t, ok := l.registry.Lookup(name)
	if !ok || !strings.Contains(name, "/") || t.Family != nil || applies(t) {
		hint := "a type is called Owner/Thing"
		if owner, _, _ := strings.Cut(name, "/"); strings.EqualFold(owner, "Ccm") {
			var known []string
			for _, t := range l.registry {
				if t.Family == nil && !applies(t) {
					known = append(known, owner+"/"+strings.ToUpper(t.Name[:1])+t.Name[1:])
				}
			}
			hint = "built-in types are " + strings.Join(known, ", ")
		}
		return name, false, hint, false
	}
	return t.Name, t.Below == "", "", true
}

// tellsState reports whether the resources of a type tell how they are: those that can
// be asked do.
func (l *loader) tellsState(typeName string) bool {
	t, ok := l.registry.Lookup(typeName)
	if !ok { // which is reported by itself
		return true
	}
	_, asked := t.New().(modules.Querier)
	return asked
}

// openBeside reads a document that another one includes, from below the folder of
// the outermost one, which base calls shown.
func openBeside(folder, shown string, at *yamlpos.Node, base, path string) (*yamlpos.Node, string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if filepath.IsAbs(path) {
		return nil, "", at.Errorf("give a path relative to the document", "%s is an absolute path", path)
	}
	whole := filepath.Join(filepath.Dir(base), path)
	name, err := filepath.Rel(shown, whole)
	if err != nil {
		return nil, "", at.Errorf("", "%v", err)
	}
	// Without O_NONBLOCK, opening a named pipe would wait for a writer.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", at.Errorf("", "%s: there is no such document", whole)
	} else if err != nil {
		return nil, "", at.Errorf("documents and parameters are included from the folder of the document, or below it", "%s: %v", whole, unwrapped(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "", at.Errorf("", "%s is not a regular file", whole)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, "", at.Errorf("", "reading %s: %v", whole, unwrapped(err))
	}
	n, err := oneDocument(whole, data)
	return n, whole, err
}

func unwrapped(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// documentResource makes a resource of an instance. Everything in it is a value.
func (l *loader) documentResource(i *document.Instance) *Resource {
	t, ok := l.registry.Lookup(i.Type)
	name := yamlpos.From(i.Node, i.Name)
	r := &Resource{Type: t, Name: Literal(name), Require: required(i)}
	if i.Excluded {
		r.If, _ = templates.ParseExpr("false", templates.At(i.Node))
	}
	if !ok || i.Properties == nil {
		r.Properties = Literal(&yamlpos.Node{File: i.Node.File, Line: i.Node.Line, Column: i.Node.Column, Kind: yamlpos.Map})
		return r
	}
	if i.BuiltIn {
		l.builtIn(r, i)
	} else {
		r.Properties = Literal(instanceProperties(t, i))
	}
	before := len(l.errs)
	l.checkReceiving(r)
	if i.Secure && len(l.errs) > before { // which may quote it
		l.errs = l.errs[:before]
		l.add(i.Node.Errorf("", "the properties of %s are not valid; the details are withheld because a value is secure", i.Ref()))
	}
	return r
}

// required lists what an instance depends on; nil if that is nothing.
func required(i *document.Instance) *Value {
	if len(i.Requires) == 0 {
		return nil
	}
	var refs []string
	for _, other := range i.Requires {
		refs = append(refs, other.Ref())
	}
	v := Literal(yamlpos.From(i.Node, refs))
	return &v
}

// builtIn makes the properties of a built-in type. What it is called in the
// document is its alias if the type's own name is among the properties.
func (l *loader) builtIn(r *Resource, i *document.Instance) {
	props, common, _ := l.split(r.Type, nil, i.Properties)
	for _, pair := range common.Pairs {
		l.add(pair.Key.Errorf("a document says it with dependsOn, condition and copy", "%s cannot stand in a document", pair.Key.Text))
	}
	r.Properties = Literal(props)
	if own := given(i.Properties.Get("name")); own != nil {
		alias := r.Name
		r.Name, r.Alias = Literal(own), &alias
	}
	if i.Secure {
		v := Literal(yamlpos.From(i.Node, true))
		r.Sensitive = &v
	}
	if i.Receives != nil {
		v := Literal(i.Receives)
		r.Recv = &v
		for _, pair := range i.Receives.Pairs {
			l.receivable(r, pair.Key)
		}
	}
}

// instanceProperties makes the properties of an instance of a DSC resource.
func instanceProperties(t modules.Type, i *document.Instance) *yamlpos.Node {
	n := &yamlpos.Node{File: i.Properties.File, Line: i.Properties.Line, Column: i.Properties.Column, Kind: yamlpos.Map}
	put := func(key string, value *yamlpos.Node) {
		n.Pairs = append(n.Pairs, yamlpos.Pair{Key: yamlpos.From(i.Node, key), Value: value})
	}
	put(t.Below, i.Properties)
	for _, text := range []struct{ key, value string }{{"version", i.Version}, {"adapter", i.Adapter}, {"security", i.Security}} {
		if text.value != "" {
			put(text.key, yamlpos.From(i.Node, text.value))
		}
	}
	if i.Assert {
		put("assert", yamlpos.From(i.Node, true))
	}
	if i.Metadata != nil {
		put("metadata", yamlpos.From(i.Node, i.Metadata))
	}
	if s := i.Scope; s != nil {
		put("evaluate", yamlpos.From(i.Node, map[string]any{"condition": s.Condition, "values": slices.Clone(s.Values)}))
	}
	return n
}

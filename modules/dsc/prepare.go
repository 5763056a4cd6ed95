package dsc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Prepare implements [modules.Preparer]: it adds the manifests of the play's folder that may define the type of the
// instance. As far as these allow, it checks the properties.
func (d *DSC) Prepare(_ context.Context, src modules.Source) error {
	if src.Resources == nil || d.Candidates != nil || d.Validate() != nil {
		return nil
	}
	folder := src.Resources()
	if folder == nil {
		return nil
	}
	known := src.Remember("dsc manifests", func() any { return readFolder(folder, src.YAML) }).(*contents)
	if known.err != nil {
		return modules.Errorf("type", "resources/: %v", known.err)
	}
	d.take(known.all, known.rejected)
	if !d.hasOwnCandidate() {
		d.Near = expr.Nearest(d.TypeName, typesOf(known.all))
	}
	named := slices.IndexFunc(d.Rejected, func(r Reject) bool { return r.Type != "" })
	switch {
	case named >= 0 && !d.hasOwnCandidate():
		r := d.Rejected[named]
		return modules.Errorf("type", "type %s cannot be used: resources/%s: %s", d.TypeName, r.File, r.Reason)
	case d.Evaluate != nil || src.Partial:
		return nil // its properties are known only on the host
	}
	return d.checkProperties(src)
}

// contents are the manifests in a folder resources/.
type contents struct {
	all      []Candidate
	rejected []Reject
	err      error
}

// maxNameless limits the manifests of unknown type that an instance takes along: each of them may be the missing one.
const maxNameless = 10

// take keeps what the type may be of: its manifests, the newest first, and the
// adapters.
func (d *DSC) take(all []Candidate, rejected []Reject) {
	for _, c := range all {
		if c.Manifest.Is(d.TypeName) || c.Manifest.Adapter != nil {
			d.Candidates = append(d.Candidates, c)
		}
	}
	slices.SortStableFunc(d.Candidates, func(a, b Candidate) int { return newer(a.Manifest.Version, b.Manifest.Version) })
	nameless := 0
	for _, r := range rejected {
		if r.Type == "" {
			nameless++
		}
		if r.Type == "" && nameless <= maxNameless || r.Type != "" && manifest.Like(r.Type, d.TypeName) {
			d.Rejected = append(d.Rejected, r)
		}
	}
}

func typesOf(all []Candidate) (types []string) {
	for _, c := range all {
		types = append(types, c.Manifest.Type)
	}
	slices.Sort(types)
	return types
}

func (d *DSC) hasOwnCandidate() bool {
	return slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Manifest.Is(d.TypeName) })
}

// checkProperties checks the properties against the schema of the manifest that will be selected. If a condition or a
// command decides, only the host can check.
func (d *DSC) checkProperties(src modules.Source) error {
	within, err := manifest.ParseRange(d.Version)
	if err != nil {
		return err
	}
	for _, c := range d.Candidates {
		v, err := manifest.ParseVersion(c.Manifest.Version)
		switch {
		case err != nil || !c.Manifest.Is(d.TypeName) || !within.Has(v):
			continue
		case c.Manifest.Condition != "":
			return nil
		}
		return d.checkAgainst(c.Manifest, src)
	}
	return nil
}

// compiledSchema is a schema, or why it cannot be used.
type compiledSchema struct {
	*schema.Schema
	err error
}

func (d *DSC) checkAgainst(m *manifest.Manifest, src modules.Source) error {
	wanted, err := plain(d.Properties)
	if err != nil {
		return err
	}
	if err := d.exposes(m, wanted); err != nil {
		return err
	}
	if err := unknowable(m, m); err != nil && m.Kind == manifest.KindResource { // others cannot be run at all
		return modules.Errorf("type", "%v", err)
	}
	if m.Schema == nil || m.Schema.Embedded == nil || m.Validate != nil {
		return nil
	}
	s := src.Remember("dsc schema "+string(m.Schema.Embedded), func() any {
		s, err := schema.Compile(m.Schema.Embedded)
		return &compiledSchema{s, err}
	}).(*compiledSchema)
	if s.err != nil {
		return modules.Errorf("type", "%s: %v", m.Type, s.err)
	}
	coerced, _ := s.Coerce(wanted)
	hidden := secretsIn(wanted)
	var errs []error
	for _, f := range s.Check(coerced) {
		f = below(f)
		wrong := modules.Errorf(f.Path, "%s", hidden.Hide(f.Error()))
		if wrong.Unknown = f.Unknown; f.Unknown != "" {
			wrong.Known = s.Known(f)
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}

// exposes reports a secret that the resource would take where others can see it.
func (d *DSC) exposes(m *manifest.Manifest, wanted map[string]any) error {
	for _, name := range []string{"get", "test", "set", "validate"} {
		o := m.Operation(name)
		if o == nil {
			continue
		}
		if path, err := exposed(o, fmt.Sprintf("the operation %q of %s", name, m.Type), wanted, d.discreet); err != nil {
			return modules.Errorf(path, "%v", err)
		}
	}
	return nil
}

// Limits for reading a folder resources/.
const (
	maxManifests = 1000
	maxFolders   = 64 // deep
)

// readFolder reads all manifests of a folder resources/, at any depth.
func readFolder(folder fs.FS, yaml func([]byte) (json.RawMessage, error)) *contents {
	c := &contents{}
	files := 0
	c.err = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch is, _ := manifest.IsFile(name); {
		case err != nil:
			return err
		case entry.IsDir() && strings.Count(name, "/") > maxFolders:
			return fmt.Errorf("%s is more than %d folders deep", name, maxFolders)
		case entry.IsDir() || !is:
			return nil
		}
		if files++; files > maxManifests {
			return fmt.Errorf("there are more than %d manifests of DSC resources", maxManifests)
		}
		c.add(folder, name, yaml)
		return nil
	})
	return c
}

// add reads one file of a folder.
func (c *contents) add(folder fs.FS, name string, yaml func([]byte) (json.RawMessage, error)) {
	doc, err := readFile(folder, name, yaml)
	if err != nil {
		c.rejected = append(c.rejected, Reject{File: name, Type: typeOfFile(folder, name), Reason: err.Error()})
		return
	}
	list, bad := manifest.Parse(path.Base(name), doc)
	for _, m := range list {
		c.all = append(c.all, Candidate{File: name, Manifest: m})
	}
	for _, r := range bad {
		c.rejected = append(c.rejected, Reject{File: name, Type: cmp.Or(r.Type, typeOfFile(folder, name)), Reason: r.Err.Error()})
	}
}

// readFile reads one file of manifests as JSON.
func readFile(folder fs.FS, name string, yaml func([]byte) (json.RawMessage, error)) (json.RawMessage, error) {
	text, err := process.ReadFile(folder, name, manifest.MaxSize)
	_, isYAML := manifest.IsFile(name)
	return readDocument(text, err, isYAML, yaml)
}

// readDocument returns manifests that were read, with an error, as JSON. yaml is nil where YAML cannot be read.
func readDocument(text []byte, err error, isYAML bool, yaml func([]byte) (json.RawMessage, error)) (json.RawMessage, error) {
	switch {
	case errors.Is(err, process.ErrTooLong):
		return nil, fmt.Errorf("it is larger than %d KiB", manifest.MaxSize>>10)
	case err != nil:
		return nil, cause(err)
	case !isYAML:
		return text, nil
	case yaml == nil:
		return nil, errors.New("it is YAML, which needs a controller to read it")
	}
	return yaml(text)
}

// typeOfFile guesses the type from a file that cannot be parsed.
func typeOfFile(folder fs.FS, name string) string {
	text, err := process.ReadFile(folder, name, manifest.MaxSize)
	if err != nil {
		return ""
	}
	for _, name := range process.Guess(string(text), "type") {
		if manifest.IsTypeName(name) {
			return name
		}
	}
	return ""
}

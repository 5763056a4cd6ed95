package manifest

import (
	"errors"
	"io/fs"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// A PlayFile is the literal name of a file of the play.
type PlayFile struct {
	Property string
	Name     *yamlpos.Node
}

// PlayFiles returns the literal names of files of the play in a resource.
func (r *Resource) PlayFiles() []PlayFile {
	var names []PlayFile
	for _, f := range modules.Fields(r.Type.New()) {
		n := r.Properties.Node.Get(f.Name)
		if f.PlayFile && n != nil && n.Kind == yamlpos.Scalar && n.Value != nil && !r.Properties.Open(n) && !modules.IsURL(n.Text) {
			names = append(names, PlayFile{f.Name, n})
		}
	}
	return names
}

// CheckTemplates reports errors in the templates that the resource names. Templates of a resource that not every host
// needs may be missing.
func (r *Resource) CheckTemplates(files *templates.Files) error {
	check := &templateCheck{files: files, mayMiss: !r.Unconditional()}
	for _, e := range r.conditions() {
		check.add(e.Check(files))
	}
	for _, v := range r.values() {
		check.value(v)
	}
	check.errs.Add(r.checkTree(files))
	return check.errs.Err()
}

// CheckTemplates does the same as [Resource.CheckTemplates], for the messages of the play.
func (p *Play) CheckTemplates(files *templates.Files) error {
	check := &templateCheck{files: files}
	check.value(p.Pre)
	check.value(p.Post)
	return check.errs.Err()
}

type templateCheck struct {
	files   *templates.Files
	mayMiss bool
	errs    yamlpos.Errors
}

func (c *templateCheck) value(v *Value) {
	if v == nil {
		return
	}
	for _, text := range v.texts {
		c.add(text.Check(c.files))
	}
}

func (c *templateCheck) add(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if _, positioned := err.(*templates.Error); !positioned {
			for _, one := range joined.Unwrap() {
				c.add(one)
			}
			return
		}
	}
	if err != nil && !(c.mayMiss && errors.Is(err, fs.ErrNotExist)) {
		c.errs.Add(err)
	}
}

// CheckPaths reports a JetFile that is not there or wrong, and the files of the
// play that a host could choose in it or in messages.
func (p *Play) CheckPaths(files *templates.Files, data map[string]bool) error {
	taint := templates.Taint{Data: data}
	var errs yamlpos.Errors
	errs.Add(p.Pre.CheckPaths(files, taint))
	errs.Add(p.Post.CheckPaths(files, taint))
	for _, v := range p.Watch {
		errs.Add(v.CheckPaths(files, taint))
	}
	errs.Add(p.checkConfirmVia(taint))
	if p.JetFile != nil {
		template, err := templates.JetFile(files, p.JetFile.Text)
		if err != nil {
			errs.Add(templates.Place(p.JetFile, err))
		} else {
			errs.Add(template.CheckPaths(files, taint))
		}
	}
	return errs.Err()
}

package manifest

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// CheckPlayFiles refuses names of files of the play that facts of a host decide: a host
// could choose a file that is meant for another one.
func (r *Resource) CheckPlayFiles() error { return r.hostileFiles(templates.Taint{}) }

// CheckPaths reports the files of the play that a host could choose by its facts,
// in properties and in templates. data are the keys of the data that are made of
// facts.
func (r *Resource) CheckPaths(files *templates.Files, data map[string]bool) error {
	taint := templates.Taint{Data: data}
	taint.Item = r.Each.FromHost(taint)
	var errs yamlpos.Errors
	errs.Add(r.hostileFiles(taint))
	errs.Add(r.treePaths(files, taint))
	errs.Add(r.CheckNested(data))
	if from, ok := r.Type.New().(modules.Downloader); ok {
		_ = yamlpos.Decode(r.Properties.Node, from, yamlpos.Open(r.Properties.Open)) // what does not fit has been reported
		errs.Add(r.CheckDownload(from.Downloads(), data))
	}
	for _, e := range []*templates.Expr{r.If, r.Unless} {
		if e != nil {
			errs.Add(e.CheckPaths(files, taint))
		}
	}
	for _, v := range r.values() {
		errs.Add(v.CheckPaths(files, taint))
	}
	return errs.Err()
}

// hostileFiles reports names of files of the play in properties.
func (r *Resource) hostileFiles(taint templates.Taint) error {
	taint.Item = taint.Item || r.Each.FromHost(taint)
	var errs yamlpos.Errors
	var check func(*yamlpos.Node)
	check = func(n *yamlpos.Node) {
		if n == nil {
			return
		}
		for _, item := range n.Items {
			check(item)
		}
		if text := r.Properties.texts[n]; text != nil && text.FromHost(taint) {
			errs.Add(n.Errorf(`choose among literals: "{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}", or use data of the inventory`,
				"what a host sent may not name a file of the play"))
		}
	}
	res := r.Type.New()
	var reading []string // what else decides how files of the play are read
	if renderer, ok := res.(modules.TreeRenderer); ok {
		reading = renderer.TreeUse().From
	}
	for _, f := range modules.Fields(res) {
		n := r.Properties.Node.Get(f.Name)
		switch {
		case f.PlayFile, f.PlayTree:
			check(n)
		case n != nil && slices.Contains(reading, f.Name) && r.Properties.fromHost(n, taint):
			errs.Add(n.Errorf("use data of the inventory", "what a host sent may not decide how templates are read"))
		}
	}
	return errs.Err()
}

// CheckDownload refuses properties of a download by the controller that facts of a host
// decide: the controller would send a request of the host's choice, with credentials that
// are not the host's. from names the properties of the request.
func (r *Resource) CheckDownload(from []string, data map[string]bool) error {
	taint := templates.Taint{Data: data}
	taint.Item = r.Each.FromHost(taint)
	var errs yamlpos.Errors
	for _, name := range from {
		if n := r.PropertySet().Get(name); n != nil && r.Properties.fromHost(n, taint) {
			errs.Add(n.Errorf(`choose among literals: "{{ Facts.x == 'y' ? 'a' : 'b' }}", use data of the inventory, or let the host download it`,
				"what a host sent may not choose what the controller downloads"))
		}
	}
	return errs.Err()
}

// A PlayFile is the literal name of a file of the play.
type PlayFile struct {
	Property string
	Name     *yamlpos.Node
}

// PlayFiles gives the names of files of the play that stand in a resource as
// they are.
func (r *Resource) PlayFiles() []PlayFile {
	var names []PlayFile
	for _, f := range modules.Fields(r.Type.New()) {
		n := r.Properties.Node.Get(f.Name)
		if f.PlayFile && n != nil && n.Kind == yamlpos.Scalar && n.Value != nil && !r.Properties.Open(n) {
			names = append(names, PlayFile{f.Name, n})
		}
	}
	return names
}

// CheckTemplates reports what is wrong with the templates that the resource
// names. Those of a resource that not every host needs may be missing.
func (r *Resource) CheckTemplates(files *templates.Files) error {
	check := &templateCheck{files: files, mayMiss: !r.Unconditional()}
	for _, e := range []*templates.Expr{r.If, r.Unless} {
		if e != nil {
			check.add(e.Check(files))
		}
	}
	for _, v := range r.values() {
		check.value(v)
	}
	check.errs.Add(r.checkTree(files))
	return check.errs.Err()
}

// CheckTemplates is that of [Resource.CheckTemplates], for the messages of the
// play.
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

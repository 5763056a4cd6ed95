package manifest

import (
	"regexp"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// Inputs returns what the expressions in the value can read, also through the templates that they name.
func (v *Value) Inputs(files *templates.Files) templates.Inputs {
	var all templates.Inputs
	for _, text := range v.texts {
		all.Add(text.Inputs(files))
	}
	return all
}

// InputsOf is Inputs for a part of the value, keys of maps included.
func (v *Value) InputsOf(n *yamlpos.Node, files *templates.Files) (in templates.Inputs) {
	if text := v.texts[n]; text != nil {
		in.Add(text.Inputs(files))
	}
	for _, item := range n.Items {
		in.Add(v.InputsOf(item, files))
	}
	for _, pair := range n.Pairs {
		in.Add(v.InputsOf(pair.Key, files))
		in.Add(v.InputsOf(pair.Value, files))
	}
	return in
}

// InputsAt returns what the expression at a position can read. If the position is in a template, inTemplate is set and
// the result is for the expression that renders the template. known is false if neither is there.
func (r *Resource) InputsAt(file string, line, column int, files *templates.Files) (in templates.Inputs, inTemplate, known bool) {
	nearest := 0 // column of the text
	for _, v := range r.values() {
		if v == nil {
			continue
		}
		for n := range v.texts {
			switch reads := v.texts[n].Inputs(files); {
			case n.File == file && n.Line == line && n.Column <= column && n.Column > nearest:
				nearest, in, inTemplate, known = n.Column, reads, false, true
			case nearest == 0 && slices.Contains(reads.Templates(), file):
				in.Add(reads) // the one of several that has failed is not known
				inTemplate, known = true, true
			}
		}
	}
	for _, e := range r.conditions() {
		if at := e.At(); at.File == file && at.Line == line && at.Column <= column && at.Column > nearest {
			nearest, in, inTemplate, known = at.Column, e.Inputs(files), false, true
		}
	}
	if in.Item() && r.Each != nil {
		in.Add(r.Each.Inputs(files))
	}
	return in, inTemplate, known
}

// Facts returns the paths of the facts among the [Play.Inputs]. all is set when they cannot be known.
func (p *Play) Facts(files *templates.Files) (paths []string, all bool) {
	return p.Inputs(files).Facts()
}

// Inputs returns what the play's expressions can read, and the templates of its folder that they name. It does not
// include what the data and nested manifests read.
func (p *Play) Inputs(files *templates.Files) (all templates.Inputs) {
	if p.JetFile != nil {
		all.Add(p.generatorInputs(files))
	}
	values := append([]*Value{p.Pre, p.Post}, p.Watch...)
	for _, r := range p.Resources {
		if r.LeftOut() {
			continue
		}
		if r.Applies() && r.Child == nil { // the manifest's own inputs are not known yet
			all.Anything()
		}
		all.Add(r.Inputs(files))
	}
	for _, v := range values {
		if v != nil {
			all.Add(v.Inputs(files))
		}
	}
	return all
}

// Inputs returns what the expressions of the resource can read, also through the templates that they name.
func (r *Resource) Inputs(files *templates.Files) (all templates.Inputs) {
	for _, v := range r.values() {
		if v != nil {
			all.Add(v.Inputs(files))
		}
	}
	if r.Vars != nil {
		all.Add(r.Vars.Inputs())
	}
	all.Add(r.treeInputs(files))
	all.Add(r.ControlInputs(files))
	return all
}

// ControlInputs returns what the expressions of control can read.
func (r *Resource) ControlInputs(files *templates.Files) (all templates.Inputs) {
	for _, e := range r.conditions() {
		all.Add(e.Inputs(files))
	}
	return all
}

// EachInputs visits the parts of the resource that can hold expressions, with their inputs. at is the position of the
// part.
func (r *Resource) EachInputs(files *templates.Files, visit func(at *yamlpos.Node, reads templates.Inputs)) {
	for _, v := range r.values() {
		if v == nil {
			continue
		}
		for n, text := range v.texts {
			visit(n, text.Inputs(files))
		}
	}
	for _, e := range r.conditions() {
		at := e.At()
		visit(&yamlpos.Node{File: at.File, Line: at.Line, Column: at.Column}, e.Inputs(files))
	}
	if r.Vars != nil {
		r.Vars.EachExpression(visit)
	}
	visit(r.Name.Node, r.treeInputs(files))
}

// generatorInputs returns what the play's JetFile can read, and the expressions in the resources that it writes.
func (p *Play) generatorInputs(files *templates.Files) (in templates.Inputs) {
	source, err := files.Read(p.JetFile.Text)
	if err != nil {
		return in // which CheckPaths reports
	}
	template, err := templates.JetFile(files, p.JetFile.Text)
	if err != nil {
		return in
	}
	in = template.Reads().Inputs(files)
	// Expressions in the output come from the template's own text, unless it includes other templates.
	written, err := templates.Parse(string(source), templates.Position{})
	if err != nil || othersText().Match(source) {
		in.Anything()
		return in
	}
	in.Add(written.Inputs(files))
	return in
}

// othersText matches the statements by which a template takes in the text of others.
var othersText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\[-?\s*(include|import|extends|yield|block)\b|includeIfExists`)
})

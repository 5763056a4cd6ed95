package manifest

import (
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/templates"
)

// Inputs gives what the expressions in the value can read, through the templates
// that they name.
func (v *Value) Inputs(files *templates.Files) templates.Inputs {
	var all templates.Inputs
	for _, text := range v.texts {
		all.Add(text.Inputs(files))
	}
	return all
}

// Facts gives the paths of the facts among the [Play.Inputs]. all is set when they cannot
// be known.
func (p *Play) Facts(files *templates.Files) (paths []string, all bool) {
	return p.Inputs(files).Facts()
}

// Inputs gives what the play's expressions can read, and the templates of its folder
// that they name. What the data reads, and nested manifests, is not among them.
func (p *Play) Inputs(files *templates.Files) (all templates.Inputs) {
	if p.JetFile != nil {
		all.Add(p.generatorInputs(files))
	}
	values := []*Value{p.Pre, p.Post}
	for _, r := range p.Resources {
		if r.Unselected {
			continue
		}
		if r.Applies() && r.Child == nil { // what that reads is not known yet
			all.Anything()
		}
		values = append(values, r.values()...)
		all.Add(r.treeInputs(files))
		for _, e := range []*templates.Expr{r.If, r.Unless} {
			if e != nil {
				all.Add(e.Inputs(files))
			}
		}
	}
	for _, v := range values {
		if v != nil {
			all.Add(v.Inputs(files))
		}
	}
	return all
}

// generatorInputs gives what the play's JetFile can read, and the expressions in the
// resources that it writes.
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
	// The expressions in what it writes stand in its own text, unless that is of
	// other templates too.
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

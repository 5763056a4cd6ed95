package manifest

import (
	"context"
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// Generate gives the resources that the play's JetFile writes for one host. What
// the template prints are values: no part of them is read as YAML or as an
// expression. Positions are those in the text that it has written.
func (p *Play) Generate(ctx context.Context, env *templates.Env) ([]*Resource, error) {
	resources, err := p.PerHost.Generate(ctx, p, env)
	if err != nil {
		return nil, err
	}
	p.selection.mark(p, resources)
	return resources, nil
}

// generatorInputs gives what the template can read, and the resources that it writes.
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

// othersText finds what brings the text of other templates into one.
var othersText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\[-?\s*(include|import|extends|yield|block)\b|includeIfExists`)
})

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

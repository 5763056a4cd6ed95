package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/templates"
)

// Facts gives the paths of the facts that the play's expressions, and the
// templates of its folder that they name, can read. all is set when that cannot
// be known. Those of the data, and of nested manifests, are not among them.
func (p *Play) Facts(files *templates.Files) (paths []string, all bool) {
	collect := func(more []string, everything bool) {
		paths, all = append(paths, more...), all || everything
	}
	if p.JetFile != nil {
		collect(p.generatorInputs(files).Facts())
	}
	values := []*Value{p.Pre, p.Post}
	for _, r := range p.Resources {
		if r.Unselected {
			continue
		}
		all = all || r.Applies() && r.Child == nil // nobody knows what that will read
		values = append(values, r.values()...)
		collect(r.treeInputs(files).Facts())
		for _, e := range []*templates.Expr{r.If, r.Unless} {
			if e != nil {
				collect(e.Facts(files))
			}
		}
	}
	for _, v := range values {
		if v == nil {
			continue
		}
		for _, text := range v.texts {
			collect(text.Facts(files))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), all
}

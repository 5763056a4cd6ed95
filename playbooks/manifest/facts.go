package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/templates"
)

// Facts gives the paths of the facts that the play's expressions, and the
// templates of its folder that they name, can read. all is set when that cannot
// be known.
func (p *Play) Facts(files *templates.Files) (paths []string, all bool) {
	collect := func(more []string, everything bool) {
		paths, all = append(paths, more...), all || everything
	}
	collect(p.Data.Facts())
	values := []*Value{p.Pre, p.Post}
	for _, r := range p.Resources {
		values = append(values, r.values()...)
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

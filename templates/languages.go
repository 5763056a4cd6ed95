package templates

import (
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/jettemplate"
	"github.com/ccm-push/ccm-push/templates/render"
)

// languages hands each language what it can call of the others.
type languages struct{}

var _ render.Languages = languages{}

func (languages) ParseText(text string, pos Position) (render.Source, error) {
	t, err := expression.Parse(text, pos, languages{})
	if err != nil {
		return nil, err // and no Source that holds a nil pointer
	}
	return t, nil
}

func (languages) ParseJet(text string, pos Position, delims Delims, files *Files, of *render.Part) (*Template, error) {
	return jettemplate.Parse(text, pos, delims, files, of, languages{})
}

func (languages) ParseGo(text string, pos Position, delims Delims, of *render.Part) (*Template, error) {
	return gotemplate.Parse(text, pos, delims, of, languages{})
}

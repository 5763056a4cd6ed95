package manifest

import "github.com/ccm-push/ccm-push/templates"

// Inputs gives what the expressions in the value can read, through the templates
// that they name.
func (v *Value) Inputs(files *templates.Files) templates.Inputs {
	var all templates.Inputs
	for _, text := range v.texts {
		all.Add(text.Inputs(files))
	}
	return all
}

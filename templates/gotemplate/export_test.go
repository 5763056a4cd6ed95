package gotemplate

import "github.com/ccm-push/ccm-push/templates/render"

// ChangesMaps reports whether a template works on copies, for the tests outside.
func ChangesMaps(t *render.Template) bool { return t.Engine.(*engine).changes }

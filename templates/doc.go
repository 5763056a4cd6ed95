// Package templates computes the values of a manifest for one host: expressions in strings ([Parse]), Jet and Go
// templates ([ParseJet], [ParseGo]), folders of them ([LoadScaffold]) and hierarchical data ([ParseSource]).
//
// Everything is parsed once and evaluated per host with an [Env]. Facts, data, environment and item are values,
// whatever they hold: they are never parsed as a template, and neither is rendered text. Templates come from the
// manifest itself or from files of the play's folder ([Files]); the syntax tree is checked for that before anything
// runs.
//
// An evaluation ends: it is limited by its context, by [MaxOutput], by a number of steps and by the depth to which
// templates may render each other. Errors are [Error]; they name keys and types, never values.
//
// This package is the interface of the packages below it. It implements folders of templates and the data: merged
// layers, a hierarchy of keys that selects among them, and the checks of annotations on the result. The caller reads
// the files of the data ([Parts]). Each package below imports only packages above it in this list:
//
//	diag         positions, errors that have one, what to write instead
//	render       one evaluation: what it sees, reads and may spend; calls between templates
//	expression   {{ … }}: parsed, checked, run; @validate
//	jettemplate  Jet
//	gotemplate   text/template, with functions of which most are Sprig's
//
// The three languages do not know each other: each receives a
// [github.com/ccm-push/ccm-push/templates/render.Languages], implemented here, to call the others. Code about resources
// does not belong here, nor anything about a host except its facts.
package templates

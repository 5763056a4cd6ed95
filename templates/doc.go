// Package templates turns what a manifest says into values for one host:
// expressions in strings ([Parse]), Jet and Go templates ([ParseJet],
// [ParseGo]), folders of them ([LoadScaffold]) and hierarchical data
// ([ParseSource]).
//
// Everything is parsed once and evaluated per host with an [Env]. Facts, data,
// environment and item are values, whatever they hold: they are never parsed as
// a template, and what was rendered is not looked at again. Templates come from
// the manifest itself or from files of the play's folder ([Files]), and the
// syntax tree is checked for that before anything runs.
//
// An evaluation ends: it is bounded by its context, by [MaxOutput], by a number
// of steps and by the depth to which templates may render each other. Errors
// are [Error]; they name keys and types, never values.
//
// This package is the face of those below it, and has the folders of templates and the
// data: layers that are laid over each other, of which a hierarchy of keys chooses some,
// and what annotations demand of them. Whoever reads the parts of the data hands them in
// ([Parts]). Each package below imports only what stands above it here:
//
//	diag         positions, errors that have one, what to write instead
//	render       one evaluation: what it sees, reads and may spend; calls between templates
//	expression   {{ … }}: parsed, checked, run; @validate
//	jettemplate  Jet
//	gotemplate   text/template, with functions of which most are Sprig's
//
// The three languages do not know each other. What one can call of another comes
// through [github.com/ccm-push/ccm-push/templates/render.Languages], which is
// filled here. What a resource is, or a host beyond its facts, may not come in.
package templates

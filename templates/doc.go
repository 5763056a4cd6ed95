// Package templates turns what a manifest says into values for one host:
// expressions in strings ([Parse]), Jet and Go templates ([ParseJet],
// [ParseGo]), folders of them ([LoadScaffold]) and hierarchical data
// ([ParseSource]).
//
// Everything is parsed once and evaluated per host with an [Env]. Facts, data,
// environment and item are values, whatever they hold: they are never parsed as
// a template, and neither is rendered text. Templates come from the manifest itself or
// from files of the play's folder ([Files]); the syntax tree is checked for that before
// anything runs.
//
// An evaluation ends: it is bounded by its context, by [MaxOutput], by a number
// of steps and by the depth to which templates may render each other. Errors
// are [Error]; they name keys and types, never values.
//
// This package is the face of those below it. Itself it has the folders of templates and
// the data: layers that are laid over each other, a hierarchy of keys that chooses among
// them, and what annotations demand of the result. The caller reads the files of the data
// ([Parts]). Each package below imports only those above it in this list:
//
//	diag         positions, errors that have one, what to write instead
//	render       one evaluation: what it sees, reads and may spend; calls between templates
//	expression   {{ … }}: parsed, checked, run; @validate
//	jettemplate  Jet
//	gotemplate   text/template, with functions of which most are Sprig's
//
// The three languages do not know each other: what one can call of another it gets as a
// [github.com/ccm-push/ccm-push/templates/render.Languages], which is implemented here.
// Resources may not come in, nor anything of a host beyond its facts.
package templates

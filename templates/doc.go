// Package templates turns what a manifest says into values for one host:
// expressions in strings ([Parse]), Jet and Go templates ([ParseJet],
// [ParseGo]) and hierarchical data ([Resolve]).
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
package templates

// Package load reads plays from the files that the command line names. A run reads files, a file has plays, a play
// has resources, and a resource may apply a nested manifest, which is a file again. [Files] is the entry point.
//
//	load.go           Files and Parse: settings that all files of one run share
//	file.go           one file: its documents, each a play or a list of plays
//	configuration.go  DSC configuration documents
//	include.go        files that a play includes, and files with its data
//	play.go           the keys of a play
//	facts.go          the key facts
//	rollout.go        the key rollout
//	confirm.go        the key confirm
//	watch.go          the key watch
//	gossfile.go       the key gossfile
//	nested.go         manifests that resources apply, each read once
//	instance.go       a copy of a nested manifest for each resource that applies it
//	perhost.go        templates that write resources, and nested manifests with computed names: read for one host
//
// Package resource reads a list of resources, and package source finds files; this package opens no path. Package
// manifest has the plays themselves and does not import this one: it reads data per host through
// [manifest.PerHost].
package load

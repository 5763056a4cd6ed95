// Package load reads plays from the files that the command line names. [Files] is the
// front: a run reads files, a file has plays, a play has resources, and a resource may
// apply a nested manifest, which is a file again.
//
//	load.go           Files and Parse: what all files of one run share
//	file.go           one file: its documents, each a play or a list of them
//	play.go           the keys of a play; include.go: files that it names
//	nested.go         manifests that resources apply, each read once
//	instance.go       a copy of a nested manifest for each resource that applies it
//	perhost.go        what is read for one host: templates that write resources, and
//	                  nested manifests whose names are computed
//	configuration.go  DSC configuration documents
//
// A list of resources is read by package resource, files are found by package source; no
// path is opened here. Plays themselves, and all that can be asked of them, are package
// manifest, which does not import this one: what is read per host goes through
// [manifest.PerHost].
package load

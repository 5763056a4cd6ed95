// Package manifest defines plays: CCM manifests whose values may be expressions, and where they run. A [Play] has
// resources, a [Resource] has values, and a [Value] has expressions. Package catalog resolves the expressions per host.
//
// This package answers questions about plays before any host is known: which resources a run selects, which files and
// facts they read, and what a host could choose although it must not. Package load reads plays, with the help of
//
//	source     finds and reads files, archives and pages
//	resource   reads a list of resources, and checks what can be known without a host
//
// Both use packages that know no plays: keys (the keys that a manifest may have), reference (type#name) and ansible
// (replacements of Ansible's words). Package schema describes manifests as a JSON Schema. Nothing in this package reads
// a YAML file.
//
// Start with play.go, resource.go and value.go, which define the main types. propertyset.go and partialset.go hold the
// properties of one resource and find their certain errors. event.go is about resources with refreshonly. select.go selects the resources of a run. nested.go is
// about manifests within manifests. reference.go and resolved.go serve the compilation per host. inputs.go, files.go
// and tree.go find the inputs that plays read. set.go is about values that are set on the way. taint.go finds the inputs that a host could choose.
package manifest

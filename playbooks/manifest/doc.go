// Package manifest is plays: CCM manifests whose values may be expressions, and where they
// run. A [Play] has resources, a [Resource] has values, a [Value] has expressions; what is
// still open in them is resolved per host by package catalog.
//
// Here is what can be asked of plays before any host is known: which resources a run is
// about, which files and facts they read, what a host could choose that it may not. Plays
// are read by package load, and within it
//
//	source     finds and reads files, archives and pages
//	resource   reads a list of resources, and checks what can be known without a host
//
// Both have what they need from packages that know no plays: keys (what may be written),
// reference (type#name) and ansible (what to write in place of Ansible's words). Package
// schema describes manifests as a JSON Schema. Nothing in here reads a file of YAML.
//
// A way through: play.go, resource.go and value.go are what there is; propertyset.go and
// partialset.go the properties of one resource, and what is certainly wrong with them;
// select.go the resources that a run is about; nested.go the manifests in each other;
// reference.go and resolved.go what compiling asks; inputs.go, files.go and tree.go what is
// read; taint.go what of that a host could choose.
package manifest

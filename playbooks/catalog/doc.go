// Package catalog compiles a play for a host into the catalog that the host receives: every expression evaluated,
// every template rendered, every reference a number.
//
// Before the first host, [New] opens the folders of a play:
//
//	compiler.go      work that is done once for all hosts
//	manifests.go     the play and the manifests that it applies, each with its folder
//	sources.go       the files of a folder, each hashed once
//	reads.go         which files and folders a play may read
//	bundle.go        the folder resources/ of a play
//	bundlewalk.go    reads it
//	ignored.go       its files that hosts do not receive
//	literal.go       checks of resources that are the same for every host
//	checkresults.go  checks of the results that resources read
//
// For each host, [Compiler.Compile] runs these steps:
//
//	compile.go       the steps, also of the next stage, which is compiled with the results of earlier ones
//	data.go          the data of the host, layer over layer, and its scopes
//	secrets.go       secrets in the data, and resources that read them
//	expand.go        the selected resources, as entries in the order of the manifest
//	each.go          a resource with each: one entry per element
//	block.go         a block
//	nested.go        a resource that applies a manifest
//	uncompiled.go    unselected resources that cannot be compiled, but may have a refresh due
//	evaluate.go      the properties that every resource has
//	elsewhere.go     resources that run on another host
//	properties.go    the properties of its type
//	scaffold.go      folders of templates
//	yaml.go          YAML as JSON
//	memo.go          remembers properties for hosts with equal inputs
//	results.go       results of earlier resources that a resource reads
//	set.go           values that resources set
//	references.go    the edges from references and received values
//	names.go         names of resources, and what they refer to
//	whence.go        adds the source of the data to errors
//	order.go         the order in which the entries run
//	watch.go         the watch rules of entries
//
// The output:
//
//	packet.go        the catalog on the wire
//	contents.go      the contents that the host may request
//	download.go      downloads, each once for all hosts
//	render.go        the compiled play for people
//	given.go         the properties of a resource for people
//	show.go          prints both as YAML
//
// Compilation reads only files in the folders of the play. Text from a host is only a value and never evaluated.
// No code here contacts a host.
package catalog

// Package catalog compiles a play and what is known of a host into the catalog that the
// host is sent: every expression evaluated, every template rendered, every reference a
// number.
//
// Before any host, [New] opens the folders of a play:
//
//	compiler.go    what is found out once for all hosts
//	manifests.go   the play and the manifests that it applies, each with its folder
//	sources.go     the files of a folder, each hashed once
//	bundle.go      its folder resources/, which bundlewalk.go reads; ignored.go says what
//	               of it stays behind
//	literal.go     what can be said of resources that are the same for every host
//
// For each host, [Compiler.Compile] goes one way through:
//
//	compile.go     the steps
//	data.go        the data of the host, layer over layer
//	expand.go      the resources that are selected, as entries in the order written;
//	               each.go and nested.go make several of one
//	evaluate.go    what any resource can say of itself
//	properties.go  what its type has, by way of scaffold.go and yaml.go; memo.go remembers
//	               it for hosts with equal inputs
//	references.go  the edges that references and received values make; names.go
//	order.go       the entries in the order in which they run
//
// What comes of it:
//
//	packet.go      the catalog on the wire
//	contents.go    what the host may ask for; download.go gets a part of that
//	render.go      the same for people; show.go prints it
//
// Compilation reads files of the play's own folders and nothing else. What a host said is
// only ever a value. Hosts are not contacted here, and what they answer stays out.
package catalog

// Package catalog compiles a play and what is known of a host into the catalog that the
// host is sent: every expression evaluated, every template rendered, every reference a
// number.
//
// [Compiler.Compile] goes one way through, each step in a file of its own:
//
//	data.go        the data of the host, layer over layer
//	expand.go      the resources that are selected, as entries in the order written;
//	               each.go and nested.go make several of one, evaluate.go and
//	               properties.go what a resource says
//	references.go  the edges that references and received values make
//	order.go       the entries in the order in which they run
//	contents.go    what the host may ask for; bundle.go the folder resources/
//	packet.go      the catalog on the wire
//
// Compilation reads files of the play's own folders and nothing else. What a host said is
// only ever a value. Hosts are not contacted here, and what they answer stays out.
package catalog

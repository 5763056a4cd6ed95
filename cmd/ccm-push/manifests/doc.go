// Package manifests has the commands that read or write manifests.
//
//	commands.go     the list of commands
//	explain.go      explain
//	fmt.go          fmt
//	fromansible.go  from-ansible
//	shadow.go       from-ansible --shadow
//	graph.go        graph
//	hiera.go        hiera
//	new.go          new
//	problems.go     errors and warnings for editors and CI systems
//	render.go       render
//	schema.go       schema
//	typedoc.go      doc
//	validate.go     validate
package manifests

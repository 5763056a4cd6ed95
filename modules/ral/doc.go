// Package ral manages resources through providers of libral: executables that implement one of its two conventions,
// json and simple.
//
// The conventions are described in libral's documentation (doc/json.md, doc/simple.md and doc/metadata.md of
// github.com/puppetlabs-toy-chest/libral at 8f18f10). Where the program ralsh differs, the documentation counts.
//
// The steps for a resource: prepare.go on the controller; on the host discover.go and find.go, check.go, apply.go.
// provider.go calls; json.go and simple.go are the two conventions. Code for any program that answers in JSON, not only
// for libral, belongs in modules/process.
package ral

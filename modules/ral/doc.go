// Package ral keeps resources through providers of libral: executables that speak
// one of its two conventions, json and simple.
//
// The conventions are those of libral's documentation (doc/json.md, doc/simple.md
// and doc/metadata.md of github.com/puppetlabs-toy-chest/libral at 8f18f10). Where
// the program ralsh departs from them, the documentation counts.
//
// The way of a resource: prepare.go on the controller; on the host discover.go and
// find.go, check.go, apply.go. provider.go calls; json.go and simple.go are the two
// conventions. What is not of libral but of any program that answers in JSON belongs to
// modules/process.
package ral

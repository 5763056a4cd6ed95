// Package render is one evaluation for one host, in whatever language: its bounds,
// the calls from one template to another, and what the languages have in common.
//
// A function that two languages have is a method of [Run] in functions.go.
//
// No language may come in: they are handed in as [Languages].
package render

// Package watch decides what becomes of resources that are not as they were left: what is told,
// what is mended and when, and what is left alone. It knows no host and no clock: it is told what
// hosts say and what time it is, and answers.
//
//	rules.go   what a manifest says of watching
//	window.go  times of the week at which nothing is mended
//	judge.go   what is told of a resource
//	repair.go  what may be mended now: budgets, waits, the share of the fleet
//	fight.go   who else wants the resource otherwise
//
// A fight is known by its values: as they shall be, otherwise, as they shall be, and otherwise in
// the same way again. Then nothing is mended until there is a new catalog, or a person says so.
package watch

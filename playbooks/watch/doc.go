// Package watch decides how drifted resources are handled: which are reported, which are repaired and when, and which
// are not repaired. It contacts no host and has no clock: it receives the reports of hosts and the time, and answers.
//
//	rules.go   the watch settings of a manifest
//	window.go  weekly time windows in which nothing is repaired
//	judge.go   what is reported of a resource
//	repair.go  what may be repaired now: budgets, waits, the share of the fleet
//	fight.go   whether something else keeps changing the resource
//
// A fight is detected by its values: the desired state, another, the desired state, and the same other one again. Then
// nothing is repaired until there is a new catalog, or an operator permits it.
//
// Package watching runs a watch.
package watch

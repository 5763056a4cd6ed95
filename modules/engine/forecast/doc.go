// Package forecast says what a host will be once plans have been carried out.
//
//	host.go        the Host as it will be: its files; accounts.go, commands.go
//	lookup.go      an answer of it, and what that depends on
//	view.go        of which plans an entry sees what they make of the host
//	prediction.go  how certain an entry's answers are, and its read set
//	forecast.go    the plans, and the states that they lead to
//	conflicts.go   in a graph: entries that may run before a reader and change what it has read
//
// A [Forecast] takes the effects of plans and answers reads on top of the real host,
// through the [modules.Host] that [Forecast.Host] gives. A [Prediction] is filled in
// along the way: on which resource an answer depends that cannot be known beforehand.
//
// What does not come in: results, the order of entries, and anything that changes the
// host.
package forecast

// Package forecast predicts the state of a host after planned changes.
//
//	host.go        the predicted Host: its files
//	accounts.go    its users and groups
//	commands.go    its read-only commands
//	lookup.go      one answer, and the plans that it depends on
//	view.go        which plans an entry sees
//	prediction.go  how sure the answers for an entry are, and its read set
//	forecast.go    the plans, and the states that follow from them
//	conflicts.go   in a graph: entries that may run before a reader and change a thing that it has read
//
// A [Forecast] records the effects of plans. [Forecast.Host] returns a [modules.Host] that answers reads from them
// and from the real host. A [Prediction] collects the resources that make the answers uncertain.
//
// Results, the order of entries, and code that changes the host do not belong here.
package forecast

// Package watching watches the hosts of a run: one goroutine decides, with [watch.Judge], which resources
// have drifted and which to repair, and reports both. [Hosts] listens to the hosts and repairs them. News and orders are values that can cross the network, since a
// worker may watch a host.
//
//	watching.go  the hosts, their plays, and the decisions
//	repairs.go   orders to repair, and how they ended
//	tell.go      verdicts of the judge as events
//	news.go      news from hosts and orders to them
//	entry.go     resources under watch, and results in the words of the judge
package watching

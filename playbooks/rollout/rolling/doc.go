// Package rolling runs the rollout of a play: one goroutine decides, with [rollout.Conductor], which host is next and when
// the rollout stops, and answers the person who steers it. [Hosts] and [Probes] carry out its decisions.
//
//	rolling.go  a rollout, from the prediction to the last batch
//	predict.go  what would change on the hosts, and the plan that follows
//	gates.go    gates between two batches
//	steer.go    the stop of a rollout, and the answers of a person
//	rules.go    the rules of a rollout, for people
package rolling

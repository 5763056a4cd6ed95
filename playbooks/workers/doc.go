// Package workers lets other machines process the hosts of a run.
//
// A [Coordinator] is what a [playbooks.Runner] hands hosts to. It puts them together in shards by site,
// and has a ticket for each wait in a queue (package queue). A [Worker] leases a ticket, and asks the
// coordinator what it is for; what it gets is sealed to a key that it has made for itself, and signed
// by its own key, which is on the operator's list. It compiles, works on the hosts and says what
// happens, which the coordinator reports as its own.
//
// The queue is not relied on. A ticket that comes twice, or whose worker was lost, is asked about
// again: the coordinator hands out the hosts that have not ended, and the hosts tell the new worker what
// the old one had them do. What was told before is not told again ([told]).
//
// Hosts that are watched are a shard that does not end (watch.go).
//
// How hosts are worked on, and in which order plays begin, does not belong here: that is package
// playbooks.
package workers

// Package workers lets other machines process the hosts of a run.
//
// A [Coordinator] gets hosts from a [playbooks.Runner], groups them into shards by site, and puts a ticket for each shard into a queue
// (package queue). A [Worker] leases a ticket and asks the coordinator for its hosts. The answer is sealed to a key that the worker made
// for this run; the worker signs its questions with its own key, which is on the operator's list (package keyring). The worker compiles
// the plays, applies them to the hosts, and reports what happens. The coordinator reports these events as its own.
//
// The queue may deliver a ticket twice, and workers may be lost. The coordinator then gives the unfinished hosts to the
// next worker. The hosts report the results of the lost worker to the next worker. Results that were reported before
// are not reported again ([told]).
//
// Package playbooks decides how hosts are processed and in which order plays begin. Package parcel packs the files of a run, and package
// sealing encrypts messages.
//
// Both sides:
//
//	message.go        messages between coordinator and worker
//	messagechecks.go  their limits
//	presence.go       announcements of workers
//	invite.go         tokens that make a machine a worker
//	outages.go        warnings that are printed once
//
// The coordinator:
//
//	coordinator.go  configuration, and wiring of the parts of a run
//	run.go          a run in progress: take a host, stop, kill; goroutines that answer workers
//	ledger.go       unfinished hosts, and the workers that have them
//	told.go         events that were reported
//	intake.go       new hosts: gather, cut into shards, submit tickets
//	enter.go        a login on some hosts before the run
//	dispatcher.go   answers to tickets: which hosts a worker gets
//	inbox.go        messages of workers: events and ends of hosts
//	errands.go      requests of workers: questions of hosts, certificates, orders for watched hosts
//	questions.go    questions and orders in progress
//	transfers.go    hosts that go from one worker to another
//	routes.go       targets, host keys and certificates for hosts
//	authority.go    certificates of workers
//	limits.go       limits of workers by the list of workers
//	parcels.go      the content of the run for each worker
//	post.go         signed messages and objects in the queue
//	sites.go        warnings about sites without a worker
//	forget.go       removal of old data
//
// The worker:
//
//	worker.go  tickets, leases and runs
//	hold.go    extension of a lease
//	shift.go   the hosts of one ticket
//	talker.go  reports to the coordinator
//	ask.go     questions to the coordinator
//	watch.go   orders for watched hosts
//	loans.go   hosts of other workers, for resources with on
//	folder.go  the folder with the files of a run
//
// Other machines that follow or continue a run:
//
//	handover.go  shared runs
//	lease.go     the lease of a run, and the copy of its record
//	follow.go    a followed run
package workers

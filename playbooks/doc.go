// Package playbooks runs plays over a fleet: it connects to hosts, compiles and sends each one its catalog, and
// turns the answers into events.
//
// A [Runner] has the settings of the command line. [Runner.Run] is a run, from the selection of hosts to the
// summary:
//
//	runner.go           the run: selection, checks, compilers, one play after the other
//	validate.go         errors that can be found without a host
//	variables.go        inventory variables that have no value here: Ansible expressions, encrypted values
//	inventoryvalues.go  the inventory and the run as expressions see them
//	files.go            checks private keys and known_hosts files before the first connection
//	unlock.go           opens encrypted private keys
//	mask.go             secrets that no output may show
//	deadline.go         time limits of each phase
//	fleet.go            a play: its batches, and how many hosts at once
//	compilefirst.go     --compile-first: compiles all catalogs of a batch before the first one is applied
//	otherfacts.go       facts of other hosts that a play reads
//	lookups.go          values in NATS that templates read
//	host.go             a host: its state between plays
//	phase.go            how far a host is, and which phases may follow
//
// A play on one host:
//
//	hostplay.go         from the connection to the result
//	relay.go            relays that deliver the host program
//	program.go          the connection, and the host program for a user
//	decodefacts.go      facts of the host as plain values
//	part.go             a part of a play, and its mode: applied, only checked, watched or repaired
//	stage.go            its catalogs, one per stage: applied, reported
//	result.go           results of the host as events
//	nestedmessages.go   messages of nested manifests between the results
//	progress.go         which entries have a result
//	shared.go           values, semaphores and resources that run once: shared between hosts
//	elsewhere.go        resources of one host that run on another
//	fetch.go            files that the host sends to the controller
//	registration.go     services that a result registers
//	step.go             --step: prompts before each change
//	guard.go            changes that could lock out the controller: what package confirm needs of a host
//	reconnect.go        the same catalog over a new connection
//	inprogress.go       resources that may still be in progress on a lost host, and their semaphores
//	failure.go          the failure of a host, with its phase
//	reason.go           a code for the reason of the failure, for programs
//	untold.go           results that an earlier run did not receive
//	resume.go           work that an earlier run has finished, for a run that resumes it
//
// A play with a rollout takes another way through its hosts, which package rollout/rolling decides:
//
//	rollparts.go        the resources of drains and gates, checked before the first host is contacted
//	rolledplay.go       what a rollout decides, done on hosts: predicted, rolled, checked for health
//	rolledhost.go       a host: drained, changed, checked for health, put back
//
// A run that watches continues after its plays, and package watch/watching decides:
//
//	watchhost.go        a host: its sessions, the plays that it watches, lost and found connections
//	watchaway.go        a host that a worker watches, on the controller and on the worker
//	watchrepair.go      repairs: the play runs again for resources that have drifted
//
// Workers run plays in place of the controller:
//
//	workers.go          the interface, and the data that workers need
//	turn.go             a turn: a request for one host, which a worker processes; the list of requests
//	kinds.go            the JSON of values of several types
//	known.go            the values from which the controller compiles the catalog as well
//	questions.go        questions of a worker, checked against the play
//	answers.go          answers to a worker, checked against its questions
//	borrowed.go         resources of a worker's host that run on another host or on the controller
//	connections.go      connections that a worker keeps for the next play
//
// Other commands do parts of a run:
//
//	render.go           [Runner.Render] and [Runner.Explain] compile plays and apply nothing
//	facts.go            [Runner.Facts] gathers facts
//	footprint.go        [Runner.Footprints] lists and removes files of ccm-push on hosts
//	footprintreport.go  its output
//	sudoers.go          [Runner.Sudoers] writes sudoers rules
//
// Packages below this one each have one subject. Flags and exit statuses do not belong here.
package playbooks

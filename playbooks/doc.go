// Package playbooks runs plays over a fleet: it connects to hosts, compiles and
// sends each one its catalog, and turns what comes back into events.
//
// A [Runner] has what the command line gives; [Runner.Run] is a run from the selection of
// hosts to the summary. Its way through:
//
//	runner.go    the run: checks, compilers, one play after the other
//	fleet.go     a play: batches of hosts, so many at once
//	host.go      a host: its state between plays
//	hostplay.go  a play on a host: from the connection to how it has ended
//	program.go   its connection, and the host program for a user
//	stage.go     its catalogs, one per stage: applied, reported
//	reconnect.go the same catalog over another connection
//	resume.go    what an earlier run, which is resumed, has done already
//	confirm.go   a change to how a host is reached, confirmed over a new login
//	elsewhere.go resources that are for one host and run on another
//
// A play with a rollout goes another way through its hosts:
//
//	rolling.go      its batches: one goroutine decides, by asking [rollout.Conductor]
//	rollinglook.go  what will change on each host, and whether it is healthy
//	rollinghost.go  a host: drained, changed, found healthy, put back
//	rollinggate.go  what comes between two batches
//	rollingsteer.go what is done when it has stopped, and what people say
//	rollparts.go    what drains and gates are made of, checked before the first host is contacted
//
// A run that watches goes on behind its plays:
//
//	watching.go    its hosts: one goroutine decides, by asking [watch.Judge]
//	watchhost.go   a host: its sessions, its plays as they are sent to be watched, lost and found
//	watchnews.go   what hosts say to the one who decides, and what is ordered: values, since both may be on two machines
//	watchaway.go   a host that a worker watches, on either side
//	watchrepair.go what is mended: a play, carried out once more for what has drifted
//	watchtell.go   what hosts say, in the words of the judge, and what the judge says, as events
//
// Validate, Render, Facts and Footprints do parts of that. What a host sends becomes values
// and events here: decodefacts.go, result.go, nestedmessages.go, progress.go. What is about
// one matter is in a package of its own below; flags and exit statuses may not come in.
package playbooks

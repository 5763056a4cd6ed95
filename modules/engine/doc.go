// Package engine runs on a host: it takes catalogs through check, apply and verify.
// Whoever has catalogs for it is package session, above it.
//
// The way down, front to back:
//
//	loop.go       [Engine.Run]: a run of a catalog, one job after the other, or several at once
//	prefetch.go   before the first job: the contents that will be opened
//	hindsight.go  after the last one of a check run: what earlier predictions could not know
//	undo.go       after the last one: what has left the manifest is undone
//	standing.go   [Standing]: a catalog that was checked, of which parts are checked again
//	work.go       a job is left out, or has its turn, whose result is settled
//	try.go        the attempts of a turn: each checks, and then predicts or applies
//	check.go      what is to be done; preload.go: what its type has found out for many
//	batch.go      what is applied together; apply.go: alone, and verified; follow.go: watched
//	cause.go      why something is changed
//	receive.go    values from others before; send.go: values for others after
//	reverse.go    what was there before; health.go: health checks after
//	scope.go      nested manifests
//
// and what they work on, each of which knows only those below it:
//
//	turn.go       a turn of a job, and an attempt
//	run.go        a run: what its jobs share
//	forecasts.go  what jobs make of the host, and what of that others see
//	job.go        a job, and the manifest that it belongs to
//	engine.go     what an engine is given, and what it knows of earlier catalogs
//	host.go       the real host, shown or changed; state.go: states that resources report
//	result.go     what is told of a job; report.go: what its resource has said; diff.go
//	exports.go    the values that a job has for others
//
// A check run sees the host as earlier plans would have left it: package forecast
// answers for what they would change, and notes when an answer depends on something
// that cannot be known beforehand. Package schedule says in which order jobs are worked on
// and which at once, package notes what one run leaves on the host for the next.
//
// What does not come in: what a type does, and the real host, which is handed in.
package engine

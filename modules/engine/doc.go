// Package engine runs on a host: it takes catalogs through check, apply and verify. Package session receives the
// catalogs and passes them to this package.
//
// A run, in the order of its steps:
//
//	loop.go        [Engine.Run] runs a catalog: one job after the other, or several at once
//	stage.go       a catalog in stages: later jobs depend on the results of earlier ones
//	takeback.go    [Engine.TakeBack] makes the entries of a catalog that undoes a run
//	prefetch.go    requests contents before the first job
//	work.go        a job from its turn to its result
//	refresh.go     refreshes of jobs that the run does not select, and of one thing by several jobs
//	elsewhere.go   jobs that run on another host
//	try.go         the tries of a turn: each checks, and then predicts or applies
//	attempt.go     notes about the start and the end of a command, so that a lost one does not run again
//	check.go       the check of a resource, and its reaction to a refresh
//	preload.go     one query about the host for many resources of a type
//	cause.go       the reason for a change: manifest, drift or refresh
//	receive.go     values from earlier jobs and other hosts
//	confirm.go     changes that the host reverts unless the controller confirms them
//	reverse.go     the state before the first change of a resource, for its undo
//	keepbefore.go  the state before each change, for the undo of the run
//	units.go       the state of services before a change of their files, for the undo of the run
//	apply.go       applies and verifies the plan of one job, and verifies its list of effects
//	batch.go       applies the plans of several jobs together
//	follow.go      sends the output of commands while they run
//	fetch.go       sends a file of the host to the controller
//	health.go      health checks after a change
//	send.go        values for later jobs and other hosts
//	scope.go       nested manifests: their members and the result of the whole
//	block.go       blocks with rescue and always
//	undo.go        after the last job: undoes resources that have left the manifest
//	hindsight.go   after a check run: marks predictions that later jobs make uncertain
//	standing.go    [Standing]: a checked catalog whose parts can be checked again, for watching
//
// The data of a run. Each file uses only the files after it:
//
//	turn.go        a turn of a job, and an attempt
//	run.go         a run: the data that its jobs share
//	forecasts.go   the planned changes of jobs, and which of them a job sees
//	job.go         a job, and the manifest that it belongs to
//	engine.go      the settings of an engine, and earlier catalogs of the session
//	host.go        the real host, for reading and for changes
//	state.go       states that resources report
//	result.go      the result of a job
//	report.go      notes and output of a resource
//	diff.go        unified diffs of texts
//	exports.go     the values that a job has for others
//
// In a check run, a job sees the host with the changes that earlier jobs plan. Package forecast answers reads of
// such a host, and notes when an answer depends on something unknown. Package schedule decides the order of jobs.
// Package notes stores results on the host for the next run.
//
// The behaviour of a type and the access to the real host do not belong here: the caller passes them in.
package engine

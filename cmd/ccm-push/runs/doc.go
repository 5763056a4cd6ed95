// Package runs has the commands about runs: watch, follow, steer, resume, undo and print them.
//
//	attach.go        attach
//	attachshared.go  attach to a run of another machine
//	checkhealth.go   check-health
//	commands.go      the list of commands
//	continue.go      the command that continues a recorded run
//	reports.go       runs report
//	resume.go        resume
//	rollout.go       rollout
//	runs.go          runs
//	session.go       session, and the earlier calls of a session
//	undo.go          undo
//	watch.go         watch
//	watchfiles.go    watch --follow-manifests
//	watchtell.go     other receivers of the events of watch
package runs

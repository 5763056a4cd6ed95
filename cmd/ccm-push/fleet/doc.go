// Package fleet makes the [playbooks.Runner] of a call from flags, manifests and the inventory, and runs it: here or
// through workers, in this process or in the background, with records and reports.
//
//	coordinator.go    workers that run the hosts of a call
//	detach.go         runs in the background
//	fleet.go          the runner, and its run
//	listresources.go  --list-resources
//	plays.go          the plays of manifests
//	record.go         the record of a run
//	reportfiles.go    --log, --junit, --report and --metrics
//	steering.go       commands from other terminals
//	takeback.go       the undo after a rollout has stopped
//	trace.go          --trace
//	variables.go      data that the command line adds to manifests
package fleet

// Package activity records the current step of each host of a run, and shows it during the run.
//
//	tracker.go   the current steps; a run reports them
//	snapshot.go  the state at one moment
//	lines.go     a snapshot as lines for people, cut to the width of a terminal
//	live.go      Live: these lines at the bottom of a terminal, below the printed text
//	plain.go     Plain: a line every half minute, and when a tenth of the hosts has ended
//
// A run never waits for any of it: it records the steps, and the display reads them at its own pace.
package activity

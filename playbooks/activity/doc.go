// Package activity knows what each host of a run is at, and shows it while the run goes on.
//
//	tracker.go   what hosts are at; a run tells it
//	snapshot.go  how that is at one moment
//	lines.go     a snapshot as lines for people, cut to the width of a terminal
//	live.go      Live: these lines at the bottom of a terminal, below what is printed
//	plain.go     Plain: a line every half minute, and when a tenth of the hosts has ended
//
// A run never waits for any of it: it writes down what a host is at, and whoever shows that
// looks at it when there is time.
package activity

// Package events holds what happens in a run, as Go values, and the reporters
// that print it: [JSON] as JSON Lines for programs, [Text] for people, and
// [Tally], which counts.
//
// A run makes one [Stream] over its reporters and reports to it from as many
// goroutines as it likes. The first event is a [RunStart], the last a [Summary].
//
// Much of an event was written by a managed host, and such text must not draw on
// the terminal of whoever reads it. [Line] and [Block] make text harmless; Text
// prints nothing that has not passed through them, and JSON escapes the same
// characters in its own way, so that its output can be shown with cat.
package events

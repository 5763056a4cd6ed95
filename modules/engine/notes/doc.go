// Package notes keeps what one run leaves on a host for the next: which refreshes are
// due ([Refreshes]), what was there before resources that can be undone ([Reversals]),
// what resources have sent to others ([Sent]), what entries came to that no controller
// has acknowledged ([Results]), and what runs have left as it was asked for ([Applied]).
//
// Each kind is one JSON object in a [Store], read and written by the same two functions, but
// for results, which are lines of a [Log], and for the last one, of which mostly the first
// line is read.
// Nothing is trusted because it is where it should be. A note is written before the
// change that it is about, so that a run that ends at any moment loses none.
//
// What does not come in: the host itself, except through a Store, and resources: whoever
// takes a note says what is in it.
package notes

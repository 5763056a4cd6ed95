// Package schedule says in which order the entries of a catalog are worked on: who comes
// after whom ([Dependencies], [Order]), what runs at once, and which of those are about one
// thing ([Scheduler]).
//
// A nil *Scheduler stands for entries that are worked on one after the other, so that
// whoever works on an entry asks it the same things.
//
// What does not come in: what an entry does in its turn, and the host.
package schedule

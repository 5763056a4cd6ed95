// Package schedule orders the entries of a catalog: it finds their dependencies ([Dependencies], [Order]), which
// entries run in parallel, and which of those concern one thing ([Scheduler]).
//
// A nil *Scheduler means that entries run one after the other; its methods work, so that callers need no distinction.
//
// The package knows neither the host nor the work of an entry.
package schedule

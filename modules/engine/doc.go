// Package engine runs on a host: it takes catalogs through check, apply and verify.
// Whoever has catalogs for it is package session, above it.
//
// [Engine.Run] makes a run of a catalog (run.go) with a job for each entry (job.go). A job
// is brought to its result in one way, front to back: it is left out, or has its turn
// (job.go), in which it tries (try.go): it checks (check.go), and then predicts or applies
// what it has found, alone (apply.go) or in a batch (batch.go). Its result is settled with
// the values that it sends (values.go) and its health checks (health.go). After the last
// one, what has left the manifest is undone (left.go).
//
// A check run sees the host as earlier plans would have left it: package forecast
// answers for what they would change, and notes when an answer depends on something
// that cannot be known beforehand. Package schedule says in which order jobs are worked on
// and which at once, package notes what one run leaves on the host for the next.
//
// What does not come in: what a type does, and the real host, which is handed in.
package engine

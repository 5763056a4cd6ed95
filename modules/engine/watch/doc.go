// Package watch keeps checked catalogs under watch on a host, and reports changes of their entries. Only the full host
// program contains it.
//
//	loop.go      [Loop]: the order of checks; the lock of the host; quiet times
//	play.go      one catalog: which entries are checked, and which results are new
//	settle.go    the wait after a hint; checks without a hint
//	told.go      the comparison of results, and the messages
//
// A hint names a place that may have changed. Its entry is checked once there are no more hints for it, together with
// drifted entries, and with all entries that depend on these; the others keep their results ([engine.Standing]). If no
// result is new, a check of the whole catalog would have found nothing new. Otherwise all entries are checked at once,
// since any of them may see the plan of another one: the reports are then those of a fresh check.
//
// The places of an entry are listened to before it is checked, so that a change during the check is a hint again.
package watch

// Package before is about paths that a run changes: it keeps what is there before the first
// change, and is the resource that puts it back.
//
// What does not come in: the log in which that is noted, and where contents are kept. Both
// belong to modules/engine/notes.
package before

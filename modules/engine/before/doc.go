// Package before keeps the state of paths before a run first changes them, and has the resource that restores it.
//
// The log of these records, and the store of contents, belong to modules/engine/notes.
package before

// Package parcel holds what the plays of a run are made of, and packs it for workers.
//
// A [Recipe] describes how to make the plays again on another machine. [Contents] selects and packs the files that a
// worker needs for that; [Unpack] unpacks them. [Sealed] opens encrypted values and files here, because workers have no
// keys of the operator.
//
//	recipe.go  the recipe of the plays, and the plays that a worker makes of it
//	pack.go    archives of files: packing and unpacking
//	pick.go    the files that plays may read, also by computed names
//	owned.go   the operator's files and keys, which no worker gets
//	opened.go  encrypted values and files, and their texts for workers
package parcel

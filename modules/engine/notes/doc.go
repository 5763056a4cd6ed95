// Package notes keeps the records of a run on a host for later runs: due refreshes ([Refreshes]), former states of
// resources with reverse ([Reversals]), values that resources have sent to others ([Sent]), results that no controller
// has acknowledged ([Results]), and the properties with which runs have left resources ([Applied]).
//
// Most kinds are one JSON object in a [Store], read and written by the same two functions. Results are lines of a
// [Log], and of Applied mostly the first line is read. All records are validated when they are read. A record is
// written before the change that it describes, so that a run that dies loses none.
//
// The package reaches the host only through a Store. It does not know resources: its callers decide about the contents.
package notes

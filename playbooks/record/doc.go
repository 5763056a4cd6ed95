// Package record keeps what happened in each run, on the machine that ran it: a folder of
// its own per run, with what the run was ([Header], run.json), its events as JSON Lines as
// they happened (events.jsonl), and how it ended ([End], end.json).
//
// A [Recorder] is one more reporter of a run's events. It is never in the way of the run: it
// waits for nothing but the disk, shares nothing with other runs, and what it cannot write
// is a warning. A controller may be killed at any byte: what was written whole can be read.
//
// The record tells of hosts; the truth about a host lies on the host. What a secret could
// stand in may not come in: values of -e, passwords, and what events withhold.
package record

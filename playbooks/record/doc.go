// Package record keeps the events of each run, on the machine that ran it. Each run has its own folder with its
// settings ([Header], run.json), its events as JSON Lines in their order (events.jsonl), and its end ([End], end.json).
//
// A [Recorder] is one of the reporters of a run's events. It does not disturb the run: it waits only for the disk,
// shares nothing with other runs, and write errors are warnings. A controller may be killed at any byte: complete lines
// remain readable.
//
// The record describes hosts; the host itself has its true state. Values that could contain secrets are not recorded:
// values of -e, passwords, and everything that events withhold.
package record

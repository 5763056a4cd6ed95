// Package tracing tells a run as a trace of OpenTelemetry: a span for the run, below it one per host,
// below that its phases, and below the phase apply its resources.
//
// A [Trace] is a reporter. It holds nothing per resource: spans are handed on a few hundred at a time,
// as requests of OTLP in JSON, to a collector (over HTTP) or into a file. A collector that fails or is
// slow costs spans, never the run: what waits for it is bounded, and so is the wait at the end.
//
// Spans have names, states and times, and none of what commands print, errors quote or contents are.
package tracing

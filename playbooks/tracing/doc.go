// Package tracing reports a run as a trace of OpenTelemetry: a span for the run, below it one per host, below that its
// phases, and below the phase apply its resources.
//
// A [Trace] is a reporter. It holds nothing per resource: it sends spans a few hundred at a time, as requests of OTLP
// in JSON, to a collector (over HTTP) or into a file. A collector that fails or is slow costs spans, never the run: the
// waiting requests are bounded, and so is the wait at the end.
//
// Spans have names, states and times, and no output of commands, no quoted errors and no contents.
package tracing

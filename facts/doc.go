// Package facts defines the facts of a host: their names, the collector on the host that provides each, and the report
// that contains them.
package facts

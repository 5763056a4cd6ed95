// Package facts is what is true of one host: the names that facts have, which
// collector on the host serves which of them, and the report it comes in.
package facts

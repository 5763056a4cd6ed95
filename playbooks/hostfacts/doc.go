// Package hostfacts reads what a host reports about itself. None of it is believed to be
// small, shallow or well formed.
//
// It makes plain values of JSON and YAML within bounds. The session that the report came
// by, and what the facts are used for, stay out.
package hostfacts

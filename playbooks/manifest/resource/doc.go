// Package resource reads the list of resources of a manifest. Every error has a position
// and says what to write instead; values that depend on the host are checked as far as
// that is possible for all hosts.
//
// A [Reader] goes from the list (list.go) to one resource (reader.go), and parts what stands
// there into the properties of the type (properties.go) and the keys that every type has
// (common.go; receive.go for values of other resources). Files do not come in here: a
// resource that applies a manifest is handed to the caller.
package resource

// Package schema holds the properties and states of DSC resources against their
// JSON Schemas (drafts 7 and 2020-12; https://json-schema.org). Drafts 4 and 6 are read
// as 7, and 2019-09 as 2020-12, with a warning.
//
// Nothing is ever fetched: the few schemas that DSC publishes for properties are known
// here, and any other reference that leads out of a schema accepts everything, with a
// warning. Formats are looked at in draft 7, as they were meant there; patterns are
// those of Go. What a schema may take is bounded by steps, so that none stands still.
//
// A schema is compiled by compile.go, with the table of keyword.go, into the nodes of
// node.go, which check.go holds values against. Nothing of DSC may come in but the
// schemas in reference.go.
package schema

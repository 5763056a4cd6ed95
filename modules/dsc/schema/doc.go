// Package schema checks the properties and states of DSC resources against their JSON Schemas (drafts 7 and 2020-12;
// https://json-schema.org). Drafts 4 and 6 are read as 7, and 2019-09 as 2020-12, with a warning.
//
// Nothing is ever fetched: the few schemas that DSC publishes for properties are known here, and any other reference
// that leads out of a schema accepts everything, with a warning. Formats are checked in draft 7, as they were meant
// there; patterns use Go's syntax. The work of a schema is limited by steps, so that none runs forever.
//
// A schema is compiled by compile.go, with the table of keyword.go, into the nodes of node.go, with which check.go
// checks values. Knowledge about DSC does not belong here, except the schemas in reference.go.
package schema

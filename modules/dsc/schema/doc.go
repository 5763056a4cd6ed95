// Package schema holds the properties and states of DSC resources against their
// JSON Schemas (drafts 7 and 2020-12, and those between). Nothing is ever fetched:
// the few schemas that DSC publishes for properties are known here, and any other
// reference that leads out of a schema accepts everything, with a warning.
package schema

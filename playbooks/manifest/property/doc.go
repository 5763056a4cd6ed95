// Package property is the properties of a resource as a manifest writes them: their names
// in all spellings, the place of each, and what is wrong with them whatever the values come
// to that are still open. It knows types and YAML, and neither expressions nor plays.
package property

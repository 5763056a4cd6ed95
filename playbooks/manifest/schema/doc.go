// Package schema describes manifests as a JSON Schema, for editors. It is made of the same
// tables as their reading, package keys and the types of resources, and refuses nothing
// that reading accepts. No rule about manifests is written here first.
package schema

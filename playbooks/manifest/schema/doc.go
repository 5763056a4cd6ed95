// Package schema describes manifests as a JSON Schema, for editors. It is made of what
// reads them, the keys and the types of resources, and refuses nothing that reading
// accepts.
package schema

// Package schema describes, in JSON Schema 2020-12, what package yamlpos decodes
// into Go structs, for editors and for checks without this program.
//
// A schema never refuses what the decoder accepts. It may accept more: it sees
// the values that YAML stands for, and not how they were written.
//
// What a file is about may not come in: each schema comes from the structs of its package.
package schema

// Package schema describes, in JSON Schema 2020-12, the YAML that package yamlpos decodes into Go structs, for editors
// and for checks without this program.
//
// A schema never refuses a file that the decoder accepts. It may accept more: it sees the YAML values, and not how they
// were written.
//
// Knowledge about the content of a file does not belong here: each schema comes from the structs of its package.
package schema

// Package schematest holds a schema and the decoder that it describes against
// each other: a corpus of good and bad files, mutations of the good ones, and
// the files of the repository.
package schematest

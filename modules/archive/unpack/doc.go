// Package unpack takes archives apart that nobody has looked at before. An archive
// is inspected as a whole before anything of it is written, and what is written
// stays in one directory.
//
// It refuses names that are absolute or lead up, links that lead out, entries
// behind links, everything but files, directories and links, and archives from
// which more comes out than may. Files belong to the process; of their modes it
// keeps the permissions that are not for others to write.
package unpack

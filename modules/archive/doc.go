// Package archive is the resource type "archive": a file from a web server and,
// if wanted, what is unpacked from it.
package archive

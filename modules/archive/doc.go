// Package archive is the resource type "archive": a file from a web server and, if wanted, its unpacked contents.
package archive

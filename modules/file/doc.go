// Package file is the resource type "file": a file, a directory, or that there
// is nothing at a path.
package file

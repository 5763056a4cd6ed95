// Package file is the resource type "file": a file, a directory, or the absence of both.
package file

// Package source reads what an inventory is made of: files, pipes, and folders of
// them, and tells in which format each is written. It runs nothing.
package source

//go:build !linux

package main

// inMemory returns no folder.
func inMemory() string { return "" }

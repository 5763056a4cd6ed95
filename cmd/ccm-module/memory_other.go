//go:build full && !linux

package main

import "runtime/debug"

// giveBack gives memory back that a watch at rest does not need.
func giveBack() { debug.FreeOSMemory() }

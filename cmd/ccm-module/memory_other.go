//go:build full && !linux

package main

import "runtime/debug"

// giveBack returns memory to the system that an idle watch does not need.
func giveBack() { debug.FreeOSMemory() }

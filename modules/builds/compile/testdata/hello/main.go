// Hello replaces the host program in tests that need only some program.
package main

import "fmt"

var (
	build string
	kind  string // " full" in that build
)

func main() { fmt.Println(build + kind) }

// Hello stands for the host program where a test needs only a program.
package main

import "fmt"

var (
	build string
	kind  string // " full" in that build
)

func main() { fmt.Println(build + kind) }

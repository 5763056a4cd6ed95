// Command bare does nothing: benchmarks tell how long a Go program takes to start on the machine
// that they are run on.
package main

func main() {}

// Command bare does nothing: benchmarks measure with it how long a Go program takes to start on this machine.
package main

func main() {}

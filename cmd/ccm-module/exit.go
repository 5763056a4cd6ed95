package main

import (
	"errors"
	"fmt"
	"os"
)

// build identifies the sources that the program was made from; the linker sets
// it.
var build = "dev"

// usageError is a call with the wrong words.
type usageError string

func (e usageError) Error() string { return string(e) }

// exitError ends the program with a status of its own. Its text has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// status prints the outcome of the program to standard error, and returns its exit status.
func status(err error) int {
	var code exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "ccm-module:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "ccm-module:", err)
	return 2
}

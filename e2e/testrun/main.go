// Command testrun runs go test, and keeps what CI needs of it.
//
//	testrun go test ARG...          prints what go test prints, then what was not tested, and why
//	testrun again FILE PACKAGE...   prints -run patterns for the tests that FILE lists as not tested, in other packages
//	testrun touched COMMIT          prints the tests that the commits after COMMIT changed
//	testrun load PROGRAM ARG...     runs a program while as many threads as four times the processors compute
//	testrun flaky FILE              checks the list of tests that are known to be flaky
//
// If CCM_RESULTS is set, the first form appends a line for each test that failed or was not tested to that file:
// "fail PACKAGE TEST", "lacks PACKAGE TEST", and "broken PACKAGE" for a package that did not build, panicked or raced.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 2 && args[1] == "test":
		return test(args)
	case len(args) >= 2 && args[0] == "again":
		text, err := os.ReadFile(args[1])
		if err == nil {
			for _, line := range again(string(text), args[2:]) {
				fmt.Println(line)
			}
		}
		return err
	case len(args) == 2 && args[0] == "touched":
		lines, err := touched(".", args[1])
		for _, line := range lines {
			fmt.Println(line)
		}
		return err
	case len(args) >= 2 && args[0] == "load":
		return load(args[1:])
	case len(args) == 2 && args[0] == "flaky":
		text, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		return flaky(args[1], string(text), time.Now())
	}
	return errors.New("usage: testrun go test ARG... | again FILE PACKAGE... | touched COMMIT | load PROGRAM ARG... | flaky FILE")
}

// load runs a program while other threads take three quarters of each processor.
func load(argv []string) error {
	threads := 3 * runtime.NumCPU()
	runtime.GOMAXPROCS(threads + 1)
	done := make(chan struct{})
	defer close(done)
	for range threads {
		go func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

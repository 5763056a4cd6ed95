package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/flight"
)

// version is set by the linker.
var version = "dev"

// coder is an error that knows the exit status of the program.
type coder interface {
	error
	ExitCode() int
}

func main() {
	if os.Getenv("GOGC") == "" {
		flight.CollectLate()
	}
	noCores()
	a := app.New(os.Stdin, output.New(os.Stdout), output.New(os.Stderr), os.Environ())
	a.Version = version
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, endings()...)
	// With a handler, a write to a closed pipe returns an error and does not end the program. If the signal were
	// ignored, all child processes would ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := supervise(context.Background(), a, os.Args[1:], signals)
	for _, w := range []io.Writer{a.Out, a.Err} {
		w.(*output.Stream).Clear()
	}
	os.Exit(exitCode(err, a.Err))
}

// noCores disables core dumps of a process that holds secrets. If the limit cannot be set, the program runs without it.
func noCores() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
	}
}

// endings returns the signals that end a run. SIGHUP is not included if it was ignored from the beginning, as with
// nohup.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// exitCode returns the exit status of an error and prints the error if it has not been printed yet.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	_, said := errors.AsType[exit.Status](err)
	_, positioned := errors.AsType[*yamlpos.Error](err)
	switch {
	case said:
	case positioned: // a line each, which editors and terminals find the place by
		text := err.Error()
		if o, ok := stderr.(*output.Stream); ok && o.Terminal {
			text = output.WithSource(err)
		}
		fmt.Fprintln(stderr, events.Block(text)) // names in it may come from anywhere
	default:
		fmt.Fprintln(stderr, "ccm-push:", events.Block(err.Error()))
	}
	if c, ok := errors.AsType[coder](err); ok {
		return c.ExitCode()
	}
	return exit.Usage
}

// supervise executes a command line and turns signals into the ways to end it: after the first one, hosts stop when
// their current resource is done; the second kills that too; the third waits for nothing. The system and shells both
// report a closed terminal, so it counts only as the first signal.
func supervise(ctx context.Context, a *app.App, argv []string, signals <-chan os.Signal) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stop := make(chan struct{})
	a.Stop = stop
	ended := make(chan error, 1)
	go func() { ended <- call(ctx, a, argv) }()
	for heard := 0; ; {
		select {
		case err := <-ended:
			return err
		case s := <-signals:
			if heard > 0 && s == syscall.SIGHUP {
				continue
			}
			heard++
		}
		if a.EndAtOnce.Load() {
			return exit.Status(exit.Interrupted)
		}
		switch heard {
		case 1:
			a.SayStop()
			close(stop)
		case 2:
			a.Say("killing the running resources on the hosts")
			kill()
		default:
			return exit.Status(exit.Interrupted)
		}
	}
}

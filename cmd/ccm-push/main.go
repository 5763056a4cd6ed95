package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/flight"
)

// version is set by the linker.
var version = "dev"

// exitStatus is the status of a run that could be carried out: its reporters have printed the text.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitCode implements coder.
func (e exitStatus) ExitCode() int { return int(e) }

// coder is an error that knows the exit status of the program.
type coder interface {
	error
	ExitCode() int
}

const (
	// usageStatus is the exit status when nothing was begun: wrong words, or
	// files that make no sense.
	usageStatus = 1
	// These three are added up.
	failedStatus      = 2
	unreachableStatus = 4
	changedStatus     = 8
	// interruptedStatus is the one after Ctrl-C.
	interruptedStatus = 130
)

func main() {
	if os.Getenv("GOGC") == "" {
		flight.CollectLate()
	}
	noCores()
	app := newApp(os.Stdin, newOutput(os.Stdout), newOutput(os.Stderr), os.Environ())
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, endings()...)
	// With a handler, a write to a closed pipe returns an error and does not end the program. If the signal were
	// ignored, all child processes would ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	err := supervise(context.Background(), app, os.Args[1:], signals)
	for _, w := range []io.Writer{app.out, app.err} {
		w.(*output).clear()
	}
	os.Exit(exitCode(err, app.err))
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
	_, said := errors.AsType[exitStatus](err)
	_, positioned := errors.AsType[*yamlpos.Error](err)
	switch {
	case said:
	case positioned: // a line each, which editors and terminals find the place by
		text := err.Error()
		if o, ok := stderr.(*output); ok && o.terminal {
			text = withSource(err)
		}
		fmt.Fprintln(stderr, events.Block(text)) // names in it may come from anywhere
	default:
		fmt.Fprintln(stderr, "ccm-push:", events.Block(err.Error()))
	}
	if c, ok := errors.AsType[coder](err); ok {
		return c.ExitCode()
	}
	return usageStatus
}

// supervise executes a command line and turns signals into the ways to end it: after the first one, hosts stop when
// their current resource is done; the second kills that too; the third waits for nothing. The system and shells both
// report a closed terminal, so it counts only as the first signal.
func supervise(ctx context.Context, a *app, argv []string, signals <-chan os.Signal) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stop := make(chan struct{})
	a.stop = stop
	ended := make(chan error, 1)
	go func() { ended <- a.execute(ctx, argv) }()
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
		if a.endAtOnce.Load() {
			return exitStatus(interruptedStatus)
		}
		switch heard {
		case 1:
			a.sayStop()
			close(stop)
		case 2:
			a.say("killing the running resources on the hosts")
			kill()
		default:
			return exitStatus(interruptedStatus)
		}
	}
}

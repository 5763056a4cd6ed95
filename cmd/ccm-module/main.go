// Command ccm-module is the program that ccm-push runs on a host. It reads resources as JSON and answers with the
// changes that it made or would make.
//
//	ccm-module run [--check] < resource.json   one resource, one result; also CCM's requests of its ensure API
//	ccm-module serve NONCE COLLECTORS[@MS]     a session with ccm-push
//	ccm-module watchdog [starting]             reverts unconfirmed changes
//	ccm-module facts [COLLECTOR...]            facts of this host
//	ccm-module version
//
// Standard output contains only JSON; text for people goes to standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Installing this program needs a tight umask; the commands it runs expect
	// the usual one. Files are created with modes that do not depend on it.
	syscall.Umask(0o022)
	// Signals are caught and not ignored: what a program ignores, its commands do too.
	// Without this, a write to a closed pipe would kill it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), killers(os.Args[1:])...)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdin, os.Stdout)
	os.Exit(status(err))
}

// killers returns the signals that kill running resources. In a session a lost terminal does not: as with a lost
// connection the input ends, and running resources may finish. A watchdog outlives it.
func killers(args []string) []os.Signal {
	if len(args) > 0 && (args[0] == "serve" || args[0] == "watchdog") {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

func command(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return usageError("no command is given; use run, serve, watchdog, facts or version")
	}
	switch name, rest := args[0], args[1:]; name {
	case "run":
		return run(ctx, rest, in, out)
	case "serve":
		return serve(ctx, rest, in, out)
	case "watchdog":
		return watchdog(ctx, rest)
	case "facts":
		return printFacts(ctx, rest, out)
	case "version":
		_, err := fmt.Fprintln(out, build)
		return err
	default:
		return usageError(fmt.Sprintf("unknown command %q; use run, serve, watchdog, facts or version", name))
	}
}

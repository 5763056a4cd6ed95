package main

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/facts/gather"
)

// printFacts prints what the collectors find: all of them, if none is named.
func printFacts(ctx context.Context, names []string, out io.Writer) error {
	report, err := gather.Gather(ctx, facts.Collectors(names, len(names) == 0), gatherOptions())
	if err != nil {
		return err
	}
	_, err = out.Write(append(report, '\n'))
	return err
}

// gatherOptions names the folders of custom facts: the host's and the user's.
func gatherOptions() gather.Options {
	config, err := os.UserConfigDir()
	if err != nil {
		config = "" // a user without a home has no facts of their own
	}
	return gather.Options{Dirs: gather.Dirs(config)}
}

// idleTimeout splits the idle timeout from the second argument of serve: the time that the controller may be silent, in
// milliseconds, after a colon at the end; 0 means the default.
func idleTimeout(arg string) (rest string, idle time.Duration, err error) {
	rest, text, given := strings.Cut(arg, ":")
	if !given {
		return rest, 0, nil
	}
	ms, err := strconv.ParseUint(text, 10, 31)
	return rest, time.Duration(ms) * time.Millisecond, err
}

// collectors reads the list of the command line: "-" means none. The part after @ is ignored.
func collectors(arg string) []string {
	if arg, _, _ = strings.Cut(arg, "@"); arg == "-" {
		return nil
	}
	return strings.Split(arg, ",")
}

// patient sets the timeout of each collector, in milliseconds, if the list has one after @.
func patient(arg string, o gather.Options) gather.Options {
	_, limit, _ := strings.Cut(arg, "@")
	if ms, err := strconv.Atoi(limit); err == nil {
		o.Timeout = time.Duration(ms) * time.Millisecond
	}
	return o
}

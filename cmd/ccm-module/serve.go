package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/facts/gather"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// serve greets the controller and works on its catalogs.
func serve(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return usageError("usage: ccm-module serve NONCE COLLECTORS")
	}
	// It was started inside its own directory. What it starts itself begins where a
	// login without a home begins.
	if err := os.Chdir("/"); err != nil {
		return err
	}
	report, err := gather.Gather(ctx, collectors(args[1]), patient(args[1], gatherOptions()))
	if err != nil {
		return err
	}
	if err := wire.WriteHello(out, &wire.Hello{Nonce: args[0], Build: build, Facts: report}); err != nil {
		return err
	}
	dir, err := ownDir()
	if err != nil {
		return err
	}
	lock, err := system.NewRunLock(dir)
	if err != nil {
		return err
	}
	refreshes, err := system.NewJournal(dir)
	if err != nil {
		return err
	}
	sent, err := system.NewSent(dir)
	if err != nil {
		return err
	}
	reversals, err := system.NewReversals(dir)
	if err != nil {
		return err
	}
	session := &session.Session{
		Registry:  builtin.Types(),
		Host:      lock.Host(),
		SpoolDir:  dir,
		Lock:      lock.Take,
		Refreshes: refreshes,
		Reversals: reversals,
		Rules:     rules,
		Folders:   folders(dir),
		Sent:      sent,
		Now:       time.Now,
	}
	return session.Serve(ctx, in, out)
}

// collectors reads the list of the command line: "-" is none. What follows @ is not
// of it.
func collectors(arg string) []string {
	if arg, _, _ = strings.Cut(arg, "@"); arg == "-" {
		return nil
	}
	return strings.Split(arg, ",")
}

// patient sets how many milliseconds each collector may take, if that stands behind
// the list, after @.
func patient(arg string, o gather.Options) gather.Options {
	_, limit, _ := strings.Cut(arg, "@")
	if ms, err := strconv.Atoi(limit); err == nil {
		o.Timeout = time.Duration(ms) * time.Millisecond
	}
	return o
}

// ownDir is the folder of this program, which only its user can change.
func ownDir() (string, error) {
	self, err := os.Executable()
	return filepath.Dir(self), err
}

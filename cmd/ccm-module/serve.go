package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/ccm-push/ccm-push/facts/gather"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// serve greets the controller and applies its catalogs: the session reads them one after the other, and its engine runs
// them (modules/engine/session, modules/engine).
func serve(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return usageError("usage: ccm-module serve NONCE COLLECTORS")
	}
	// The program was started in its own directory. Its child processes start where a login without a home starts.
	if err := os.Chdir("/"); err != nil {
		return err
	}
	wanted, idle, err := idleTimeout(args[1])
	if err != nil {
		return err
	}
	if err := greet(ctx, args[0], wanted, out); err != nil {
		return err
	}
	s, err := newSession()
	if err != nil {
		return err
	}
	s.IdleTimeout = idle
	return s.Serve(ctx, in, out)
}

// greet sends hello, with the facts that the controller wants.
func greet(ctx context.Context, nonce, wanted string, out io.Writer) error {
	report, err := gather.Gather(ctx, collectors(wanted), patient(wanted, gatherOptions()))
	if err != nil {
		return err
	}
	return wire.WriteHello(out, &wire.Hello{Nonce: nonce, Build: build, Facts: report})
}

// newSession makes a session on this host: its types, the lock of the host, and the notes that are stored next to this
// program.
func newSession() (*session.Session, error) {
	dir, err := ownDir()
	if err != nil {
		return nil, err
	}
	lock, err := system.NewRunLock(dir)
	if err != nil {
		return nil, err
	}
	refreshes, err := system.NewJournal(dir)
	if err != nil {
		return nil, err
	}
	sent, err := system.NewSent(dir)
	if err != nil {
		return nil, err
	}
	reversals, err := system.NewReversals(dir)
	if err != nil {
		return nil, err
	}
	applied, err := system.NewApplied(dir)
	if err != nil {
		return nil, err
	}
	results, err := system.NewLog(dir)
	if err != nil {
		return nil, err
	}
	past, err := system.NewPast(dir)
	if err != nil {
		return nil, err
	}
	confirms, err := system.NewConfirms(dir)
	if err != nil {
		return nil, err
	}
	superseded := make(chan os.Signal, 1)
	signal.Notify(superseded, system.Supersede)
	return &session.Session{
		Registry:   builtin.Types(),
		Host:       lock.Host(),
		SpoolDir:   dir,
		Lock:       lock.Take,
		Refreshes:  refreshes,
		Reversals:  reversals,
		Sent:       sent,
		Applied:    applied,
		Results:    results,
		Past:       past,
		Superseded: superseded,
		Rules:      rules,
		Folders:    folders(dir),
		Watch:      watching(lock),
		Now:        time.Now,
		Confirms: &session.Confirms{
			Files: confirms,
			Clock: system.SinceStart(),
			Start: system.Watchdog{Args: []string{"watchdog"}}.Start,
			Evict: lock.Evict,
			Boot:  bootUnit(),
		},
	}, nil
}

// ownDir returns the folder of this program, which only its user can change.
func ownDir() (string, error) {
	self, err := os.Executable()
	return filepath.Dir(self), err
}

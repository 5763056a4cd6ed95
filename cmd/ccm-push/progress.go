package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/playbooks/activity"
)

// What --progress takes.
const (
	progressAuto  = "auto"
	progressLive  = "live"
	progressPlain = "plain"
	progressNone  = "none"
)

// progressMode decides how to show what hosts are at. terminal is about standard output, and
// text says that it gets text for people: nothing else is written among what programs read.
func progressMode(asked string, terminal, text bool, getenv func(string) string) string {
	canDraw := terminal && text
	switch {
	case asked == progressLive && !canDraw:
		return progressPlain
	case asked != progressAuto:
		return asked
	case !canDraw, slices.Contains([]string{"", "dumb"}, getenv("TERM")), isSet(getenv("ACCESSIBLE")), isSet(getenv("CI")):
		return progressPlain
	}
	return progressLive
}

// isSet reports whether a variable of the environment says yes.
func isSet(value string) bool { return !slices.Contains([]string{"", "0", "false", "no"}, value) }

// show shows what hosts are at. end ends that; it returns when all that was printed is on the
// terminal, or at the end of its context. A run that asks shows nothing: who answers knows
// what goes on. expected says how long a run of so many hosts takes.
func (p *printer) show(t *activity.Tracker, asks bool, expected func(hosts int) time.Duration) (end func(context.Context) error) {
	out, ok := p.app.out.(*output)
	mode := progressMode(p.flags.Output.Progress, ok && out.terminal, p.flags.Output.Format == "text", p.app.getenv)
	if asks {
		mode = progressNone
	}
	switch mode {
	case progressLive:
		return p.showLive(out, t, expected)
	case progressPlain:
		plain := activity.NewPlain(p.app.err, t.Snapshot)
		return func(context.Context) error {
			plain.Close()
			return nil
		}
	}
	return func(context.Context) error { return nil }
}

// showLive draws on standard output. What goes to standard error on the same terminal is
// printed above that too.
func (p *printer) showLive(out *output, t *activity.Tracker, expected func(hosts int) time.Duration) (end func(context.Context) error) {
	stopping, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(stopping, syscall.SIGTSTP)
	}
	live := activity.NewLive(activity.Terminal{
		Writer: writerFunc(out.write), Size: out.size,
		Stopping: stopping, Stop: func() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) },
		Continued: continued,
	}, t.Snapshot, expected)
	shared := []*output{out}
	if err, ok := p.app.err.(*output); ok && sameTerminal(out, err) {
		shared = append(shared, err)
	}
	for _, o := range shared {
		o.live.Store(live)
	}
	return func(ctx context.Context) error {
		err := live.Close(ctx)
		for _, o := range shared {
			o.live.Store(nil)
		}
		signal.Stop(stopping)
		signal.Stop(continued)
		if errors.Is(err, context.Canceled) { // nothing can be told on a terminal that takes nothing
			return nil
		}
		return err
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// sameTerminal reports whether two outputs are one terminal.
func sameTerminal(a, b *output) bool {
	one, err := a.file.Stat()
	other, otherErr := b.file.Stat()
	return a.terminal && b.terminal && errors.Join(err, otherErr) == nil && os.SameFile(one, other)
}

// size is that of the terminal, for a program that may draw on it: one in the background,
// behind what a shell does, may not.
func (o *output) size() (columns, rows int) {
	if group, err := unix.IoctlGetInt(int(o.file.Fd()), unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(o.file.Fd()))
	if err != nil {
		return 0, 0
	}
	return cmp.Or(columns, 80), rows // one that does not know has 0
}

// clear removes what is shown on the terminal by a run that is not waited for.
func (o *output) clear() {
	if l := o.live.Load(); l != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()         // it is waited for a moment
		_ = l.Close(ctx) // nothing can be told on a terminal that takes nothing
		o.live.Store(nil)
	}
}

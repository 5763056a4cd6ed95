package output

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

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks/activity"
)

// progressMode returns how to show the progress of hosts. terminal reports whether standard output is one, and text
// whether its format is text for people: output for programs gets nothing else.
func progressMode(asked string, terminal, text bool, getenv func(string) string) string {
	canDraw := terminal && text
	switch {
	case asked == flags.ProgressLive && !canDraw:
		return flags.ProgressPlain
	case asked != flags.ProgressAuto:
		return asked
	case !canDraw, slices.Contains([]string{"", "dumb"}, getenv("TERM")), isSet(getenv("ACCESSIBLE")), isSet(getenv("CI")):
		return flags.ProgressPlain
	}
	return flags.ProgressLive
}

// isSet reports whether the value of an environment variable means yes.
func isSet(value string) bool { return !slices.Contains([]string{"", "0", "false", "no"}, value) }

// Show shows the progress of hosts. end stops it; it returns when all printed text is on the terminal, or at the end of
// its context. A run with prompts shows nothing: the operator who answers sees its progress. expected returns the usual
// time of a run of so many hosts.
func (p *Printer) Show(t *activity.Tracker, asks bool, expected func(hosts int) time.Duration) (end func(context.Context) error) {
	out, ok := p.App.Out.(*Stream)
	mode := progressMode(p.Flags.Output.Progress, ok && out.Terminal, p.Flags.Output.Format == "text", p.App.Getenv)
	if asks {
		mode = flags.ProgressNone
	}
	switch mode {
	case flags.ProgressLive:
		return p.showLive(out, t, expected)
	case flags.ProgressPlain:
		plain := activity.NewPlain(p.App.Err, t.Snapshot)
		return func(context.Context) error {
			plain.Close()
			return nil
		}
	}
	return func(context.Context) error { return nil }
}

// showLive draws on standard output. Standard error on the same terminal is printed above the display too.
func (p *Printer) showLive(out *Stream, t *activity.Tracker, expected func(hosts int) time.Duration) (end func(context.Context) error) {
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
	shared := []*Stream{out}
	if err, ok := p.App.Err.(*Stream); ok && sameTerminal(out, err) {
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
		if errors.Is(err, context.Canceled) { // a terminal that accepts nothing cannot show the error
			return nil
		}
		return err
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// sameTerminal reports whether two outputs are one terminal.
func sameTerminal(a, b *Stream) bool {
	one, err := a.file.Stat()
	other, otherErr := b.file.Stat()
	return a.Terminal && b.Terminal && errors.Join(err, otherErr) == nil && os.SameFile(one, other)
}

// size returns the size of the terminal, for a program that may draw on it; 0 for a program in the background, which
// may not.
func (o *Stream) size() (columns, rows int) {
	if group, err := unix.IoctlGetInt(int(o.file.Fd()), unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(o.file.Fd()))
	if err != nil {
		return 0, 0
	}
	return cmp.Or(columns, 80), rows // one that does not know has 0
}

// Clear removes the display from the terminal, for a run that is not waited for.
func (o *Stream) Clear() {
	if l := o.live.Load(); l != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()         // it is waited for a moment
		_ = l.Close(ctx) // a terminal that accepts nothing cannot show the error
		o.live.Store(nil)
	}
}

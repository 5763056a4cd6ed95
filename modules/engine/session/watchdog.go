package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/confirm"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// watchStep is the longest sleep of a watchdog: a sleep does not end while the host is suspended.
const watchStep = 200 * time.Millisecond

// Watchdog waits until the armed changes have been confirmed, or their deadline has passed; then it reverts them.
// starting reports that the host is starting and services wait for Watchdog to end.
func (s *Session) Watchdog(ctx context.Context, starting bool) error {
	files, boot := s.Confirms.Files, false
	end, err := files.Watch(ctx)
	if err != nil {
		return err
	}
	defer end()
	for {
		state, phase, err := files.Pending()
		switch {
		case err != nil:
			return err
		case state == nil:
			if boot {
				return s.Confirms.Boot.Remove()
			}
			return nil
		case phase == confirm.Reverting:
			return s.revert(ctx, state, starting)
		case starting && state.Start == s.Confirms.Clock.Start:
			return nil // its unit was started by something else
		}
		boot = state.Boot
		left := files.Left(state, s.Confirms.Clock)
		if left <= 0 {
			if _, err := files.Verdict(state.ID, confirm.Reverting); err != nil {
				return err
			}
			continue
		}
		select {
		case <-time.After(min(left, watchStep)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// revert reverts the changes of a state, and records the outcome.
func (s *Session) revert(ctx context.Context, state *confirm.State, starting bool) error {
	files := s.Confirms.Files
	unlock, err := s.Confirms.Evict(ctx, state.Run, wire.Lock{Holder: "the watchdog of " + state.Holder, Run: revertRun(state)})
	if err != nil {
		return err
	}
	defer unlock()
	r := wire.Reverted{Run: state.Run, Play: state.Play, Holder: notes.Clip(state.Holder, wire.MaxUntoldText), Why: fmt.Sprintf("no login confirmed the change within %v", state.Within)}
	if state.Start != s.Confirms.Clock.Start {
		r.Why = "the host restarted before the change was confirmed"
	}
	if before, err := files.Of(state.ID); err == nil && before != nil { // as the host was starting
		r.Results, r.More = before.Results, before.More
	}
	err = s.takeBack(ctx, state, starting, &r)
	if ctx.Err() != nil {
		return err // the next watchdog continues
	}
	if !starting {
		err = errors.Join(err, s.reachable(ctx, state))
	}
	if err != nil {
		r.Error = oneLine(err)
	}
	r.At = s.Now().UTC()
	s.forgetResults(state)
	if starting {
		return errors.Join(files.Note(state, r), s.Confirms.Start())
	}
	if err := files.Reverted(state, r); err != nil {
		return err
	}
	if state.Boot {
		return s.Confirms.Boot.Remove()
	}
	return nil
}

// revertRun returns the run id of the revert of a state.
func revertRun(s *confirm.State) string { return "unconfirmed" + s.ID }

// takeBack takes back the changes of a state.
func (s *Session) takeBack(ctx context.Context, state *confirm.State, starting bool, r *wire.Reverted) error {
	host := s.Host
	host.Contents = modules.LocalContents{}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return s.Registry.Decode(e.Type, e.Properties) },
		Host:   host, Now: s.Now, Refreshes: s.Refreshes, Sent: s.Sent, Reversals: s.Reversals, Applied: s.Applied, Past: s.Past,
		Unconfirmed: &engine.Unconfirmed{First: state.First, Starting: starting},
	}
	cat := &wire.Catalog{
		Lock: &wire.Lock{Holder: "the watchdog of " + state.Holder, Run: revertRun(state)},
		Undo: &wire.Undo{Run: state.Run, Maybe: true},
	}
	if err := e.TakeBack(cat); err != nil {
		return err
	}
	_, err := e.Run(ctx, cat, func(result *wire.Result) error {
		entry := &cat.Entries[result.Index]
		one := wire.UntoldResult{Type: clip(entry.Type), Name: clip(entry.Name), Status: result.Status}
		switch {
		case result.Status == "" || result.Status == wire.Stable:
			return nil
		case !entry.Sensitive:
			one.Message, one.Error = clip(result.Message), clip(result.Error)
		}
		switch {
		case slices.Contains(r.Results, one): // it was reported when the host was starting
			return nil
		case len(r.Results) == wire.MaxUntold:
			r.More++
			return nil
		}
		r.Results = append(r.Results, one)
		return nil
	})
	return err
}

// oneLine is an error for people, on one line.
func oneLine(err error) string { return clip(strings.Join(strings.Fields(err.Error()), " ")) }

func clip(text string) string { return notes.Clip(text, wire.MaxUntoldText) }

// forgetResults drops the results of the catalog: a run that continues it starts over.
func (s *Session) forgetResults(state *confirm.State) {
	var kept notes.Results
	if s.Results != nil && kept.Open(s.Results) == nil {
		_ = kept.Forget(state.Run, state.Play) // if it fails, the run gets the former results
	}
}

// How long a service may take to listen again once it has been restarted.
const (
	listenWithin = 5 * time.Second
	listenPoll   = 50 * time.Millisecond
)

// reachable returns the faults of the SSH server that did not exist before the changes.
func (s *Session) reachable(ctx context.Context, state *confirm.State) error {
	var errs []error
	if state.Server {
		errs = append(errs, goodServer(ctx, s.Host))
	}
	for began := time.Now(); state.Port > 0 && !listens(state.Port); time.Sleep(listenPoll) {
		if time.Since(began) > listenWithin {
			errs = append(errs, fmt.Errorf("nothing listens on port %d", state.Port))
			break
		}
	}
	return errors.Join(errs...)
}

// goodServer has the SSH server look at its configuration, if there is one.
func goodServer(ctx context.Context, h modules.Host) error {
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"sshd", "-t"}, Timeout: 10 * time.Second})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("sshd -t: exit status %d: %s", exit.Code, strings.TrimSpace(exit.Stderr.Text))
	}
	return err
}

// listens reports whether a program on this host accepts connections to a port, by /proc/net/tcp (proc(5)).
func listens(port int) bool {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			const listen = "0A"
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != listen {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err == nil && int(n) == port && port > 0 {
				return true
			}
		}
	}
	return false
}

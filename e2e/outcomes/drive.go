package outcomes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// A Drive runs cases against hosts, one after the other.
type Drive struct {
	Hosts      []*Box
	Controller *Box
	Inventory  func(hosts int) string
	// Push returns a call of ccm-push in a folder, which is its home too.
	Push func(dir string, args ...string) *exec.Cmd
}

// An Outcome is the outcome of a case.
type Outcome struct {
	Case   *Case
	Truth  Truth
	Called []Called
	Struck []Struck
}

const (
	callLimit  = 90 * time.Second // a call that takes longer hangs
	quietLimit = 30 * time.Second // commands and host programs that take longer to end hang
)

// closing is the manifest of the last call: a check run, which reports what no run reported before.
const closing = "- {name: closing, ccm: {resources: [{file: [{" + Folder + ": {ensure: directory}}]}]}}\n"

// Run runs a case in an empty folder.
func (d *Drive) Run(ctx context.Context, c *Case, dir string) (*Outcome, error) {
	o := &Outcome{Case: c}
	boxes := slices.Concat(d.Hosts[:len(c.Hosts)], []*Box{d.Controller})
	files := c.Before()
	o.Truth.Before = map[string]Snapshot{}
	for _, b := range boxes {
		if running := b.busy(); running != "" && b.Restart != nil {
			if err := b.Restart(0); err != nil {
				return o, err
			}
		}
		if b.Link != nil {
			b.Link.Next()
		}
		if err := b.clear(files); err != nil {
			return o, err
		}
		before, err := b.snapshot()
		if err != nil {
			return o, err
		}
		o.Truth.Before[b.Name] = before
	}
	for name, text := range map[string]string{"hosts.yaml": d.Inventory(len(c.Hosts)), "site.yaml": c.Manifest(), "closing.yaml": closing} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return o, err
		}
	}
	undone := false
	for _, call := range c.Calls {
		undone = undone || call.Do == "undo"
		if err := d.call(ctx, o, dir, call); err != nil {
			return o, err
		}
	}
	for range 2 { // until nothing is left
		do := "resume"
		if last := o.Called[len(o.Called)-1]; undone && last.Status >= 0 && last.Status != 130 && last.Status&4 == 0 {
			break
		}
		if undone {
			do = "undo"
		}
		if err := d.call(ctx, o, dir, Call{Do: do}); err != nil {
			return o, err
		}
		if last := o.Called[len(o.Called)-1]; len(last.Runs) == 0 || last.Status == 0 {
			break
		}
	}
	if err := d.quiet(boxes); err != nil {
		return o, err
	}
	after := map[string]Snapshot{}
	for _, b := range boxes {
		var err error
		if after[b.Name], err = b.snapshot(); err != nil {
			return o, err
		}
	}
	if undone {
		o.Truth.Undone = after
	} else {
		o.Truth.After = after
	}
	for _, b := range d.Hosts {
		b.Link.Away(0) // what was cut is there again
	}
	if err := d.call(ctx, o, dir, Call{Do: "close"}); err != nil {
		return o, err
	}
	var calls []time.Time
	for _, call := range o.Called {
		calls = append(calls, call.Begin)
	}
	for _, b := range boxes {
		text, err := os.ReadFile(b.path(Log))
		if err != nil {
			return o, err
		}
		began, err := ReadLog(b.Name, string(text))
		if err != nil {
			return o, err
		}
		o.Truth.Began = append(o.Truth.Began, began...)
	}
	sorted(o.Truth.Began, calls)
	return o, nil
}

// quiet waits until no command and no host program runs.
func (d *Drive) quiet(boxes []*Box) error {
	for _, b := range boxes {
		for end := time.Now().Add(quietLimit); ; time.Sleep(30 * time.Millisecond) {
			running := b.busy()
			if running == "" {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("%s still runs %s", b.Name, running)
			}
		}
	}
	return nil
}

// call makes one call, with its faults, and reads what it recorded.
func (d *Drive) call(ctx context.Context, o *Outcome, dir string, call Call) error {
	args := []string{"--output", "json", "--lock-timeout", "15s"}
	switch call.Do {
	case "run":
		args = append(args, "-i", "hosts.yaml", "site.yaml")
	case "resume":
		args = append(args, "resume")
	case "undo":
		first := o.first()
		if first == "" {
			o.Called = append(o.Called, Called{Call: call, Begin: time.Now()})
			return nil
		}
		args = append(args, "undo", first)
	case "close":
		args = append(args, "-i", "hosts.yaml", "--check", "closing.yaml")
	}
	ctx, stop := context.WithTimeout(ctx, callLimit)
	defer stop()
	cmd := d.Push(dir, append(args, call.Args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	called := Called{Call: call, Begin: time.Now()}
	number := len(o.Called)
	if err := d.connections(o, number, call.Faults); err != nil {
		return err
	}
	var before []int
	for _, b := range d.Hosts {
		before = append(before, b.logged())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	var striking sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, f := range call.Faults {
		if f.Kind == Packet {
			continue
		}
		n := slices.IndexFunc(d.Hosts, func(b *Box) bool { return b.Name == f.Host })
		striking.Go(func() {
			if !d.due(f, d.Hosts[n], before[n], called.Begin, done) {
				return
			}
			mu.Lock()
			o.Struck = append(o.Struck, Struck{f, number, time.Now()})
			mu.Unlock()
			if err := d.strike(f, d.Hosts[n], cmd.Process, done); err != nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("%s: %w", f, err))
				mu.Unlock()
			}
		})
	}
	limit := context.AfterFunc(ctx, func() {
		called.TimedOut = true
		_ = cmd.Process.Kill()
	})
	err := cmd.Wait()
	limit()
	close(done)
	striking.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	called.Took, called.Status = time.Since(called.Begin), cmd.ProcessState.ExitCode()
	called.Output = stderr.String()
	if called.Status >= 0 {
		if called.Printed, err = readEvents(bufio.NewReader(&stdout)); err != nil {
			called.Output += err.Error()
		}
	}
	if err := d.recorded(o, &called, filepath.Join(dir, ".local/state/ccm-push/runs")); err != nil {
		return err
	}
	o.Called = append(o.Called, called)
	return errors.Join(errs...)
}

// connections has the ways to the hosts do what faults of connections say.
func (d *Drive) connections(o *Outcome, number int, faults []Fault) error {
	for _, b := range d.Hosts {
		b.Link.Next()
	}
	for _, f := range faults {
		if f.Kind != Packet {
			continue
		}
		for _, b := range d.Hosts {
			if b.Name == f.Host {
				b.Link.Next(append(make([]faultproxy.Fault, f.Connection), f.Link)...)
				o.Struck = append(o.Struck, Struck{f, number, time.Now()})
			}
		}
	}
	return nil
}

// due waits until a fault is due. It reports whether the call is still under way.
func (d *Drive) due(f Fault, b *Box, before int, begin time.Time, done <-chan struct{}) bool {
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for f.Line > 0 && b.logged()-before < f.Line {
		select {
		case <-done:
			return false
		case <-tick.C:
		}
	}
	delay := time.Duration(f.Delay) * time.Millisecond
	if f.Line == 0 {
		delay -= time.Since(begin)
	}
	select {
	case <-done:
		return false
	case <-time.After(delay):
		return true
	}
}

// strike does what a fault says, and undoes it when its time is over or the call is done.
func (d *Drive) strike(f Fault, b *Box, control *os.Process, done <-chan struct{}) error {
	lasts := func() {
		select {
		case <-done:
		case <-time.After(time.Duration(f.Millis) * time.Millisecond):
		}
	}
	switch f.Kind {
	case CutLink:
		b.Link.Away(time.Duration(f.Millis) * time.Millisecond)
	case KillProgram:
		b.signal(f.Signal, isProgram)
	case KillSession:
		b.signal(f.Signal, isSession)
	case KillControl:
		_ = control.Signal(syscall.Signal(f.Signal))
	case Interrupt:
		_ = control.Signal(syscall.SIGINT)
		if f.Twice {
			time.Sleep(50 * time.Millisecond)
			_ = control.Signal(syscall.SIGTERM)
		}
	case FullNotes, FullTree:
		folder := Tree
		if f.Kind == FullNotes {
			folder = "/var/lib/ccm-push"
		}
		if !b.HasRoom {
			return nil
		}
		err := b.fill(folder, true)
		lasts()
		return errors.Join(err, b.fill(folder, false))
	case Reboot:
		return b.Restart(time.Duration(f.Millis) * time.Millisecond)
	}
	return nil
}

// recorded reads the runs that have come to be since the call before.
func (d *Drive) recorded(o *Outcome, called *Called, folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, c := range o.Called {
		for _, r := range c.Runs {
			known[r.ID] = true
		}
	}
	for _, e := range entries {
		if !e.IsDir() || known[e.Name()] || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		r, err := readRun(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		r.Do, r.Call = called.Do, len(o.Called)
		called.Runs = append(called.Runs, r)
	}
	return nil
}

// first is the id of the run that the first call recorded; empty if there is none.
func (o *Outcome) first() string {
	if len(o.Called) == 0 || len(o.Called[0].Runs) == 0 {
		return ""
	}
	return o.Called[0].Runs[0].ID
}

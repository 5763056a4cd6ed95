package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A talker sends events to a coordinator, together with other events of the next moment. It is a reporter of events.
type talker struct {
	ctx    context.Context // context of the shift: reporters receive none
	member queue.Member
	writer *sealing.FrameWriter
	// rename replaces paths of this machine with their names on the machine that read the manifests.
	rename func([]byte) []byte
	failed func(error) // called once if the coordinator can no longer be reached

	sending sync.Mutex // one at a time, in order
	mu      sync.Mutex
	next    said
	err     error
}

const (
	// talkTime is how long an event waits for more events.
	talkTime = 50 * time.Millisecond
)

// Report implements [events.Reporter].
func (t *talker) Report(e events.Event) { t.ReportAll([]events.Event{e}) }

// ReportAll takes events together.
func (t *talker) ReportAll(all []events.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range all {
		if events.HostOf(e) != "" {
			t.next.Events = append(t.next.Events, events.Carried{Event: e})
		}
	}
}

func (t *talker) ended(host string, end playbooks.TurnEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next.Ends == nil {
		t.next.Ends = map[string]playbooks.TurnEnd{}
	}
	t.next.Ends[host] = end
}

func (t *talker) warn(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next.Warnings = append(t.next.Warnings, text)
}

// Settle sends the reported events, and returns when they are kept.
func (t *talker) Settle() error { return t.await(t.ctx) }

// await sends the reported events, and returns when they are kept.
func (t *talker) await(ctx context.Context) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	all, err := t.next, t.err
	t.next = said{}
	t.mu.Unlock()
	if err != nil || len(all.Events)+len(all.Ends)+len(all.Warnings) == 0 && all.Failed == "" && !all.Over {
		return err
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = t.say(ctx, t.rename(text))
	}
	if err != nil {
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
		t.failed(err)
	}
	return err
}

// say sends a text in frames. If the queue does not answer, it tries again for the time of a lease.
func (t *talker) say(ctx context.Context, text []byte) error {
	for _, frame := range t.writer.Frames(text) {
		if err := again(ctx, func(ctx context.Context) error { return t.member.Say(ctx, frame) }); err != nil {
			return err
		}
	}
	return nil
}

// over sends how it has ended, after everything else.
func (t *talker) over(ctx context.Context, failed string) error {
	t.mu.Lock()
	t.next.Failed, t.next.Over = failed, true
	t.mu.Unlock()
	return t.await(ctx)
}

// talk sends the reported events again and again, until done is closed.
func (t *talker) talk(ctx context.Context, done <-chan struct{}) {
	ticks := time.NewTicker(talkTime)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			_ = t.await(ctx) // failed receives the error
		case <-done:
			return
		}
	}
}

// renamed replaces paths in JSON.
func renamed(pairs [][2]string) func([]byte) []byte {
	return func(text []byte) []byte {
		for _, p := range pairs {
			text = bytes.ReplaceAll(text, []byte(p[0]), []byte(p[1]))
		}
		return text
	}
}

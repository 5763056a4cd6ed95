package events_test

import (
	"os"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func Example() {
	tally := new(events.Tally)
	stream := events.NewStream("r1", time.Now, tally, events.NewText(os.Stdout, events.TextOptions{}))

	stream.Report(events.PlayStart{Play: "web tier", Hosts: []string{"web1"}, Number: 1, Batch: 1, Batches: 1})
	stream.Report(events.Result{
		Host: "web1", Type: "file", Name: "/etc/motd", Status: events.Changed, Certain: true,
		Changes: []events.Change{{Property: "content", Have: "sha256:…", Want: "sha256:…"}},
	})
	stream.Report(tally.HostDone("web1", 300*time.Millisecond, events.Phases{Connect: 250 * time.Millisecond, Apply: 50 * time.Millisecond}, events.PlayEnd{Number: 1, State: events.StateOK}))
	stream.Report(tally.Summary(false))
	// Output:
	// == web tier: 1 host
	// web1  changed  file#/etc/motd  content
	//
	// web1: 1 changed, 0 stable (300ms)
	// 1 host: 1 ok; 1 resource: 1 changed, 0 stable
}

package playbooks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// TestPhases checks the report for each way in which a catalog can end early.
func TestPhases(t *testing.T) {
	none, last, more := events.Rest{}, events.Rest{NotReached: 1, Next: "exec#b"}, events.Rest{NotReached: 3, Next: "exec#a"}
	for _, c := range []struct {
		name  string
		err   error
		rest  events.Rest
		phase string
		want  string
		hint  string
	}{
		{"the connection", errors.New("reset"), more, "lost", "reset; nothing is known of exec#a and what follows it: 3 resources", ""},
		{"the end of the host program", errors.New("exit status 3"), last, "lost", "exit status 3; nothing is known of exec#b, the last resource", ""},
		{"the end after all", errors.New("reset"), none, "lost", "reset; every resource had been reported", ""},
		{"killed", fmt.Errorf("x: %w", context.Canceled), last, "lost", "killed before it could report its result; nothing is known of exec#b, the last resource", ""},
		{"a breach", session.Breach{Err: errors.New("the host says 5")}, last, "protocol", "the host says 5", ""},
		{"refused", session.Refused{Phase: "facts", Reason: "none"}, more, "facts", "none", ""},
		{"locked", session.Refused{Phase: "lock", Reason: "taken", Locked: true}, more, "lock", "taken", "to wait for the other run, pass --lock-timeout 10m"},
		{"locked by itself", session.Refused{Phase: "lock", Reason: "taken", Locked: true, Own: true}, more, "lock", "taken",
			"another host of this inventory has the same machine and user, and this run uses both hosts: remove one host, or exclude one with --limit"},
		{"late", &session.Late{What: "exec#b", Limit: time.Minute}, last, "deadline", "exec#b took longer than 1m; nothing is known of exec#b, the last resource", ""},
		{"late, and it says how it ended", &session.Late{What: "exec#b", Limit: 90 * time.Minute, Answered: true}, last, "deadline", "exec#b took longer than 1h30m", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed := failure("p", "h", phased(c.err, c.rest)).(events.HostFailed)
			failed.Reason = "" // as TestReasons has it
			require.Equal(t, events.HostFailed{Play: "p", Host: "h", Phase: c.phase, Error: c.want, Hint: c.hint, Rest: c.rest}, failed)
		})
	}
}

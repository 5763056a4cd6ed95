package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// TestProgressOfARollout ends in the midst of batch 2, as a controller does that is killed.
func TestProgressOfARollout(t *testing.T) {
	s := newStore(t)
	names := []string{"web1", "web2", "web3", "web4", "web5", "web6", "web7"}
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 7, Plays: plays(names...)},
		events.PlayStart{Play: "site", Number: 1, Hosts: names},
		events.RolloutPlan{Number: 1, Batches: []events.RolloutBatch{{Hosts: names[:1]}, {Hosts: names[1:]}}, Unreachable: []string{"web8"}, Failed: []string{"web9"}},
		events.PlayStart{Play: "site", Number: 1, Batch: 1, Batches: 2, Hosts: names[:1]},
		events.HostRolling{Number: 1, Host: "web1"},
		events.HostRolled{Number: 1, Host: "web1", Restarted: true},
		events.Gate{Number: 1, Batch: 1, Name: "errors", Verdict: "failed", Counts: true},
		events.PlayStart{Play: "site", Number: 1, Batch: 2, Batches: 2, Hosts: names[1:]},
		events.HostRolling{Number: 1, Host: "web2"},
		events.HostRolling{Number: 1, Host: "web3"},
		events.HostRolling{Number: 1, Host: "web4"},
		events.HostRolling{Number: 1, Host: "web5"},
		events.HostRolling{Number: 1, Host: "web6"},
		events.HostRolled{Number: 1, Host: "web2", Failed: true, Touched: true},
		events.HostRolled{Number: 1, Host: "web3", Failed: true},
		events.HostRolled{Number: 1, Host: "web4", Unreachable: true, Touched: true},
		events.HostRolled{Number: 1, Host: "web5"},
	)
	progress, err := run.Progress(s)
	require.NoError(t, err)
	require.Equal(t, &rollout.Past{
		Batch: 2, Batches: [][]string{names[:1], names[1:]},
		Failed: []string{"web9", "web2", "web3"}, Unreachable: []string{"web8", "web4"}, Restarted: []string{"web1"}, Gates: []string{"errors"},
		Left: map[string]bool{"web2": true, "web4": true, "web6": true}, // web7 has not begun
	}, progress.Plays[0].Rollout)
}

// TestRolloutOfARun checks the rollout status from a record after the program of the run has ended.
func TestRolloutOfARun(t *testing.T) {
	s := newStore(t)
	names := []string{"web1", "web2", "web3", "web4", "web5", "web6"}
	run := s.record(t, Header{Run: NewID(began)},
		events.RunStart{Hosts: 6, Plays: plays(names...)},
		events.RolloutPlan{Play: "web tier", Number: 1, Batches: []events.RolloutBatch{{Hosts: names[:4]}}, Broken: names[4:5], Unreachable: names[5:]},
		events.PlayStart{Play: "web tier", Number: 1, Batch: 1, Batches: 1, Hosts: names[:4]},
		events.HostRolling{Number: 1, Host: "web1"},
		events.HostRolled{Number: 1, Host: "web1", Restarted: true},
		events.HostRolling{Number: 1, Host: "web2"},
		events.HostRolled{Number: 1, Host: "web2", Failed: true, Touched: true},
		events.RolloutStop{Number: 1, Batch: 1, Rule: "stop.failed", Text: "1 of 6", Hosts: names[1:2]},
		events.RolloutSaid{Number: 1, Verb: "release", Host: "web5"},
		events.RolloutSaid{Number: 1, Verb: "go"},
		events.HostRolling{Number: 1, Host: "web3"},
		events.PlayStart{Play: "second", Number: 2, Hosts: names},
	)
	status, err := run.Rollout()
	require.NoError(t, err)
	require.Equal(t, &rollout.Status{
		Run: run.Header.Run, Play: "web tier", State: rollout.Ended, Since: status.Since, Batch: 1, Batches: 1, Hosts: 6, ToChange: 4, Done: 1, Waiting: 1,
		AtWork: []string{"web3"}, Failed: []string{"web2"}, Unreachable: []string{"web6"}, Restarted: 1,
		Held: []rollout.Held{{Host: "web6", Why: "could not be reached before the rollout"}, {Host: "web2", Why: "has failed"}},
	}, status)

	run = s.record(t, Header{Run: NewID(began)}, events.RunStart{Hosts: 6, Plays: plays(names...)})
	_, err = run.Rollout()
	require.ErrorIs(t, err, ErrNoRollout)
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// guarded is a host whose first resource has to be confirmed. answers are what it says of that, one each
// time that it is asked, of which the last one repeats; behind "lost," it dies in the midst of its
// catalog, and has taken its changes back when it comes again; behind "moved," it goes on with that.
func guarded(answers string, m *wire.Message, conn *wire.Conn) {
	rest, dies := strings.CutPrefix(answers, "lost,")
	rest, moved := strings.CutPrefix(rest, "moved,")
	reverted := &wire.Reverted{
		Run: "run1", Play: 1, Holder: "tester", At: time.Unix(1_800_000_000, 0).UTC(), Why: "no login confirmed the change within 5s",
		Results: []wire.UntoldResult{{Type: "exec", Name: "true", Status: wire.Changed}},
	}
	switch {
	case m.Proof != nil:
		proven(strings.Split(rest, ","), reverted, m, conn)
		return
	case m.Catalog.Lock.Again && moved:
		conn.Send(&wire.Message{Result: &wire.Result{Status: wire.Changed, Kept: true}}, &wire.Message{Result: &wire.Result{Index: 1}},
			&wire.Message{Done: &wire.Done{Armed: m.Catalog.Confirm.Within}})
	case m.Catalog.Lock.Again:
		conn.Send(&wire.Message{Refused: &wire.Refused{Phase: "confirm", Error: "its changes have been taken back"}})
	default:
		conn.Send(&wire.Message{Arm: &wire.Arm{Why: "it may touch the firewall"}})
		within := m.Catalog.Confirm.Within
		for m.Armed == nil {
			var err error
			if m, err = conn.Receive(); err != nil {
				os.Exit(1)
			}
		}
		first := &wire.Result{Status: wire.Changed}
		if m.Armed.Error != "" {
			first, within = &wire.Result{Status: wire.Failed, Error: m.Armed.Error}, 0
		} else {
			conn.Send(&wire.Message{Arm: &wire.Arm{Why: "it may touch the firewall", Set: true}})
		}
		conn.Send(&wire.Message{Result: first})
		if moved {
			for err := error(nil); err == nil; { // until its address is gone
				_, err = conn.Receive()
			}
			return
		}
		if dies {
			time.Sleep(time.Second) // so that the result arrives
			os.Exit(3)
		}
		conn.Send(&wire.Message{Result: &wire.Result{Index: 1}}, &wire.Message{Done: &wire.Done{Armed: within}})
	}
	for err := error(nil); err == nil; {
		if m, err = conn.Receive(); err == nil && m.Ack != nil && m.Ack.Reverted {
			note("acks")
		}
	}
}

// proven answers proofs.
func proven(answers []string, reverted *wire.Reverted, m *wire.Message, conn *wire.Conn) {
	for err := error(nil); err == nil; m, err = conn.Receive() {
		switch {
		case m.Proof != nil:
			answer := &wire.Confirmed{Nonce: m.Proof.Nonce, State: wire.ConfirmState(answers[min(note("asked"), len(answers))-1])}
			if answer.State == wire.StateReverted {
				answer.Reverted = reverted
			}
			conn.Send(&wire.Message{Confirmed: answer})
		case m.Ack != nil && m.Ack.Reverted:
			note("acks")
		}
	}
}

// note adds a line to a file in the home directory, and gives how many it has then.
func note(name string) int {
	path := filepath.Join(os.Getenv("HOME"), name)
	text, _ := os.ReadFile(path)
	text = append(text, '\n')
	if os.WriteFile(path, text, 0o600) != nil {
		os.Exit(1)
	}
	return len(text)
}

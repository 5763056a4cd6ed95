package events_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// What a command has written last is the end of its error, and stands beside it.
func TestEvidenceIsShownOnce(t *testing.T) {
	failed := func(err, stderr string) events.Result {
		return events.Result{Host: "web1", Type: "exec", Name: "x", Status: events.Failed, Certain: true, Error: err,
			Command: &events.Command{Stderr: stderr, ExitCode: 3}}
	}
	for _, test := range []struct {
		name   string
		result events.Result
		adHoc  bool
		want   string
	}{
		{"in a run", failed("exit code 3: bad", "one\nbad\n"), false,
			"web1  failed   exec#x\n    exit code 3\n    stderr | one\n    stderr | bad\n"},
		{"ad hoc", failed("exit code 3: bad", "one\nbad \n\n"), true,
			"== web1: exit 3\nstderr | one\nstderr | bad \nstderr | \n    exit code 3\n"},
		{"nothing written", failed("exit code 3", "\n"), true, "== web1: exit 3\n    exit code 3\n"},
		{"another end", failed("exit code 3: worse", "bad\n"), true, "== web1: exit 3\nstderr | bad\n    exit code 3: worse\n"},
		{"nothing but the evidence", failed("bad", "bad\n"), true, "== web1: exit 3\nstderr | bad\n    bad\n"},
		{"no command", events.Result{Host: "web1", Type: "file", Name: "/x", Status: events.Failed, Certain: true, Error: "no: bad"}, false,
			"web1  failed   file#/x\n    no: bad\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewText(&out, events.TextOptions{AdHoc: test.adHoc}).Report(test.result)
			require.Equal(t, test.want, out.String())
		})
	}
}

// The errors of a connection begin with the step, and so does the line.
func TestPhaseIsSaidOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		e    events.HostFailed
		want string
	}{
		{"a step of the connection", events.HostFailed{Host: "web1", Phase: "install", Error: "install 10.0.0.1:22: no space left", Hint: "make some"},
			"web1  failed   install: 10.0.0.1:22: no space left\n    hint: make some\n"},
		{"another phase", events.HostFailed{Host: "web1", Phase: "lock", Error: "locked"}, "web1  failed   lock: locked\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewText(&out, events.TextOptions{}).Report(test.e)
			require.Equal(t, test.want, out.String())
		})
	}
}

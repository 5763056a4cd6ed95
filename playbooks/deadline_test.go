package playbooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestNoDeadline(t *testing.T) {
	r := &Runner{Options: Options{Deadlines: Deadlines{Host: NoDeadline, Start: NoDeadline, Facts: NoDeadline}}}
	ctx, done := r.hostTime(t.Context())
	require.NoError(t, ctx.Err())
	done()
	require.Nil(t, session.Overdue(ctx))
	require.Equal(t, NoDeadline, r.Options.Deadlines.start())
	require.Equal(t, 30*time.Second, Deadlines{}.start())
	require.Equal(t, 35*time.Second, Deadlines{Facts: 5 * time.Second}.start())
}

func TestFactsDeadlineIsTheHosts(t *testing.T) {
	names := []string{"host", "network"}
	require.Equal(t, "-", Deadlines{Facts: time.Second}.wanted(nil))
	require.Equal(t, "host,network", Deadlines{}.wanted(names))
	require.Equal(t, "host,network@1500", Deadlines{Facts: 1500 * time.Millisecond}.wanted(names))
	require.Equal(t, "host,network@1", Deadlines{Facts: 1}.wanted(names))
	require.Equal(t, "host,network@86400000", Deadlines{Facts: NoDeadline}.wanted(names))
	require.Equal(t, "host,network@1500:2500", (&Options{Deadlines: Deadlines{Facts: 1500 * time.Millisecond}, IdleTimeout: 2500 * time.Millisecond}).wanted(names))
	require.Equal(t, "-:3600000", (&Options{IdleTimeout: time.Hour}).wanted(nil))
	require.Equal(t, "-", (&Options{IdleTimeout: time.Minute}).wanted(nil))
}

// TestLate names the step at which a host had no more time.
func TestLate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("lost")
	require.Equal(t, lost, late(ctx, lost), "in time")
	cancel(&session.Late{What: "the host", Limit: 90 * time.Minute})
	require.NoError(t, late(ctx, nil))
	for _, test := range []struct {
		err   error
		want  string
		phase string
	}{
		{&transport.HostError{Host: "web1", Op: "dial", Addr: "a:22", Err: context.Cause(ctx)}, "web1: dial a:22: the host took longer than 1h30m", ""},
		{&transport.HostError{Host: "web1", Op: "install", Addr: "a:22", Err: lost}, "the host took longer than 1h30m; phase: install", "deadline"},
		{&phaseError{phase: "compile", err: lost}, "the host took longer than 1h30m; phase: compile", "deadline"},
		{&phaseError{phase: "deadline", err: lost}, "lost", "deadline"},
		{&stoppedError{}, "the host took longer than 1h30m", "deadline"},
	} {
		got := late(ctx, test.err)
		require.EqualError(t, got, test.want)
		if pe, ok := errors.AsType[*phaseError](got); ok {
			require.Equal(t, test.phase, pe.phase)
		} else {
			require.Empty(t, test.phase)
		}
	}
}

// TestHostThatNeverFinishes hears, and does nothing.
func TestHostThatNeverFinishes(t *testing.T) {
	t.Parallel()
	hosts := map[string]*sshtest.Server{"web2": sshtest.Start(t, sshtest.Env("FAKE=nothing"))}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }, {\"false\": }]}]}").fake(t)
	w.Options.Deadlines.Resource = time.Second
	require.Equal(t, []string{"play site 1/1: web2", "web2 exec#true failed", "web2 failed in deadline", "web2 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web2")
	require.Equal(t, "exec#true took longer than 1s; nothing is known of exec#true and what follows it: 2 resources", text)
}

// TestHostTimeEndsWhatIsUnderWay ends a start, for which there is no other limit.
func TestHostTimeEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.SilentAfterAuth())}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
	w.Options.Deadlines = Deadlines{Start: NoDeadline, Host: 3 * time.Second}
	require.Equal(t, []string{"play site 1/1: web1", "web1 failed in deadline", "web1 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web1")
	require.Equal(t, "the host took longer than 3s; phase: start", text)
}

// TestStartTimeBoundsEscalation has a host that is silent during the escalation to root.
func TestStartTimeBoundsEscalation(t *testing.T) {
	t.Parallel()
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.Shell("/bin/sh", "-c", "exec sleep 1000"))}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
	w.Connect.Become = true
	w.Options.Deadlines = Deadlines{Start: time.Second, Host: 10 * time.Second}
	require.Equal(t, []string{"play site 1/1: web1", "web1 failed in start", "web1 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web1")
	require.Contains(t, text, "timed out after 1s")
}

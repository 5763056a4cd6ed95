package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// TestKeptOnce makes a host report the kept result of an entry that runs once. A lost worker, or a run that this one
// resumes, requested the entry. The result counts for the other hosts.
func TestKeptOnce(t *testing.T) {
	f := &fleet{runner: &Runner{}, once: share.NewOnce(&share.Waits{})}
	f.once.Begin([]string{"web1", "web2"}, false, func(string) {})
	d := &delegated{fleet: f, of: (&selection{}).whole(), host: "web1", once: map[int]string{0: "migrate"}}
	require.Equal(t, wire.Changed, d.told(&wire.Result{Status: wire.Changed, Kept: true}).Status)
	on, result, err := f.once.Await(t.Context(), "web2", "migrate")
	require.NoError(t, err)
	require.Equal(t, "web1", on)
	require.Equal(t, wire.Changed, result.Status)
}

// resumedOnce begins a batch of a play that a run resumes, in which the resource migrate runs once.
func resumedOnce(p record.PlayProgress, hosts ...string) (*fleet, *selection) {
	f := &fleet{runner: &Runner{Options: Options{Progress: &record.Progress{Plays: []record.PlayProgress{p}}}}, once: share.NewOnce(&share.Waits{})}
	f.once.Begin(hosts, false, func(string) {})
	s := &selection{play: &manifest.Play{}}
	for _, h := range hosts {
		f.hasOnce(s, h, map[string]bool{"migrate": true})
	}
	return f, s
}

// TestKeptOnceOfAnotherHost has a host report the result of a resource that ran on another one, which the run that
// this one resumes could not report: it is reported with the host where it ran.
func TestKeptOnceOfAnotherHost(t *testing.T) {
	f, s := resumedOnce(record.PlayProgress{
		Batches: [][]string{{"web1", "web2"}}, Started: []events.ResourceStart{{Host: "web1", Type: "exec", Name: "migrate", Once: "migrate"}},
	}, "web1", "web2")
	entries := []wire.Entry{{Type: "exec", Name: "migrate", Once: true}}
	second := &delegated{fleet: f, of: s.whole(), host: "web2", entries: entries, once: map[int]string{0: "migrate"}}
	require.Equal(t, wire.Changed, second.told(&wire.Result{Status: wire.Changed, Kept: true}).Status)
	require.Equal(t, "web1", second.on(0))

	first := &delegated{fleet: f, of: s.whole(), host: "web1", entries: entries, once: map[int]string{0: "migrate"}}
	exit := &modules.Exit{Code: 3}
	first.told(&wire.Result{Status: wire.Changed, Kept: true, Exit: exit})
	require.Empty(t, first.on(0))
	on, result, err := f.once.Await(t.Context(), "web2", "migrate")
	require.NoError(t, err)
	require.Equal(t, "web1", on)
	require.Equal(t, exit, result.Exit, "the host where it ran knows what it printed")
}

// TestOnceOfTheRunBefore resumes a run in which a resource ran once: it is not reported as new, and belongs to the host
// where it ran. A host that starts the play only now is in the same batch if the play has no other.
func TestOnceOfTheRunBefore(t *testing.T) {
	f, s := resumedOnce(record.PlayProgress{
		Batches: [][]string{{"web1", "web2"}}, Once: []record.OnceResult{{Result: events.Result{Host: "web1", Type: "exec", Name: "migrate", Status: events.Changed, Once: "migrate"}}},
	}, "web1", "web2", "web3")
	for host, on := range map[string]string{"web1": "", "web2": "web1", "web3": "web1"} {
		d := &delegated{fleet: f, of: s.whole(), host: host, entries: []wire.Entry{{Type: "exec", Name: "migrate", Once: true}}, once: map[int]string{0: "migrate"}}
		result, here := d.run(t.Context(), t.Context(), 0, false)
		require.False(t, here, host)
		require.Equal(t, wire.Changed, result.Status)
		require.True(t, d.told(&wire.Result{Status: wire.Changed}).Kept)
		require.Equal(t, on, d.on(0), host)
	}
	list := func(names ...string) (hosts []*inventory.Host) {
		for _, name := range names {
			hosts = append(hosts, &inventory.Host{Name: name})
		}
		return hosts
	}
	require.Equal(t, [][]string{{"web1", "web2", "web3"}}, namesOf(f.runner.batches(0, s.play, list("web1", "web2", "web3"))))
	s.play.Serial = []manifest.BatchSize{{Count: 2}}
	require.Equal(t, [][]string{{"web1", "web2"}, {"web3"}}, namesOf(f.runner.batches(0, s.play, list("web1", "web2", "web3"))))
}

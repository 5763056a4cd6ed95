package playbooks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// services are the registrations of a test. Services of the cluster nowhere cannot be registered.
type services struct {
	mu     sync.Mutex
	list   []string
	broken bool
}

func (s *services) Ready(context.Context) error {
	if s.broken {
		return errors.New("there is no stream")
	}
	return nil
}

func (s *services) Register(_ context.Context, list []registry.Registration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		if one.Cluster == "nowhere" {
			return errors.New("registering " + one.String() + ": refused")
		}
		s.list = append(s.list, one.String())
	}
	return nil
}

const registering = `
- name: one
  ccm:
    post_message: bye
    resources:
      - exec:
          - "touch made":
              cwd: "{{ Data.home }}"
              creates: "{{ Data.home }}/made"
              register_when_stable: [{cluster: "{{ Data.cluster }}", service: web, protocol: http, address: 192.0.2.3, port: 80, priority: 1}]
          - after: {command: "true"}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`

// TestRegistrationFails has a resource fail that cannot be registered, and its host with it.
func TestRegistrationFails(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), strings.ReplaceAll(registering, "{{ Data.cluster }}", "nowhere"))
	s := &services{}
	w.Registry = s
	require.Equal(t, []string{"play one 1/1: web1", "web1 exec#touch made failed", "web1 exec#after changed", "web1 done: failed"}, w.run(t))
	require.Contains(t, w.text.String(), "registering http web of nowhere at 192.0.2.3:80: refused")
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok && r.Status == events.Failed {
			require.True(t, r.Changed, "the host was changed all the same")
		}
	}
	require.Equal(t, 1, w.Tally.Summary(false).Totals.Hosts.Failed)
	require.Empty(t, s.list)
}

func TestRegistration(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), strings.ReplaceAll(registering, "{{ Data.cluster }}", "eu"))
	s := &services{broken: true}
	w.Registry = s
	_, err := w.Run(t.Context(), nil)
	require.EqualError(t, err, w.dir+"/site.yaml:10:37: nothing can be registered: there is no stream\n"+
		"  hint: to prepare NATS, see docs/guide/nats.md; to register nothing, pass --registration ''")
	require.Empty(t, w.recorded.lines(), "no host is touched")

	w.Options.Check = true
	w.run(t)
	require.Contains(t, w.text.String(), "info: would be registered: http web of eu at 192.0.2.3:80")
	require.Empty(t, s.list)

	w.Options.Check, s.broken = false, false
	w.run(t)
	w.run(t)
	require.Equal(t, []string{"http web of eu at 192.0.2.3:80", "http web of eu at 192.0.2.3:80"}, s.list, "changed, and then stable")
}

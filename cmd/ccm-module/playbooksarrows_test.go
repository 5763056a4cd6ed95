package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlaybooksArrows keeps what playbooks is made of in one line: what hosts share and
// the way to them know nothing of a run, the conversation with a host nothing of the
// way to it, and none of them anything of the fleet.
func TestPlaybooksArrows(t *testing.T) {
	const root = module + "playbooks"
	for name, never := range map[string][]string{
		"queue":       {"inventory", "modules", "playbooks/semaphore", "playbooks/events", "templates", "transport"},
		"semaphore":   {"inventory", "modules", "playbooks/queue", "playbooks/events", "templates", "transport"},
		"reach":       {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/exchange", "templates"},
		"exchange":    {"transport", "playbooks/queue", "playbooks/reach", "playbooks/semaphore", "playbooks/session"},
		"hostfacts":   {"modules", "playbooks/session", "transport"},
		"outcome":     {"transport", "playbooks/exchange", "playbooks/reach", "playbooks/session"},
		"session":     {"transport", "playbooks/queue", "playbooks/reach", "playbooks/outcome"},
		"trust":       {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/exchange", "templates"},
		"footprint":   {"facts", "modules", "playbooks/manifest", "playbooks/session", "playbooks/reach", "templates"},
		"credentials": {"facts", "modules", "playbooks/manifest", "playbooks/session", "playbooks/reach", "templates"},
		"extravars":   {"facts", "modules", "transport", "playbooks/manifest", "playbooks/catalog", "playbooks/session"},
	} {
		linked := deps(t, root+"/"+name)
		require.NotContains(t, linked, root, "%s imports playbooks", name)
		for _, to := range never {
			require.Empty(t, below(linked, module+to), "playbooks/%s imports %s", name, to)
		}
	}
}

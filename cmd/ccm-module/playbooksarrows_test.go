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
		"share":     {"transport", "playbooks/events", "playbooks/reach", "playbooks/session"},
		"reach":     {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/share", "templates"},
		"session":   {"transport", "playbooks/events", "playbooks/reach"},
		"trust":     {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/share", "templates"},
		"extravars": {"facts", "modules", "transport", "playbooks/manifest/keys", "playbooks/catalog", "playbooks/session"},
	} {
		linked := deps(t, root+"/"+name)
		require.NotContains(t, linked, root, "%s imports playbooks", name)
		for _, to := range never {
			require.Empty(t, below(linked, module+to), "playbooks/%s imports %s", name, to)
		}
	}
}

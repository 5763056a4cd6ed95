package service

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStateOf(t *testing.T) {
	for code, want := range map[int]string{
		0: "active", 3: "inactive", 4: "deactivating", 8: "activating", 16: "activating", 32: crashed, 1: "", 127: "",
	} {
		state, known := stateOf(code)
		require.Equal(t, want, state)
		require.Equal(t, want != "", known)
	}
}

// described is the output of OpenRC 0.45 for a service with a reload.
const described = ` * Demo
 * healthcheck: no description
 * unhealthy: no description
 * reload: no description
 * cgroup_cleanup: Kill all processes in the cgroup
`

func TestCanReload(t *testing.T) {
	require.True(t, canReload(described))
	require.True(t, canReload(" * reload: Reads its configuration again"))
	require.False(t, canReload(" * Demo\n * healthcheck: no description\n"))
	require.False(t, canReload(" * it cannot reload: never"))
	require.False(t, canReload(""))
}

func FuzzCanReload(f *testing.F) {
	f.Add(described)
	f.Add(" *reload:")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, canReload(text), canReload(text+"\n"))
		require.True(t, canReload(text+"\n * reload: no description"))
	})
}

func TestOpenRCCommands(t *testing.T) {
	u := unit{id: "demo", levels: []string{"boot", "default"}}
	for v, want := range map[verb][]string{
		start:   {"rc-service", "--", "demo", "start"},
		forget:  {"rc-service", "--", "demo", "zap"},
		enable:  {"rc-update", "add", "demo", "default"},
		disable: {"rc-update", "del", "demo", "boot", "default"},
	} {
		require.Equal(t, want, openrc{}.command(u, v))
	}
}

func TestSystemdCommands(t *testing.T) {
	ctl := []string{"systemctl", "--system", "--no-pager", "--no-ask-password"}
	u := unit{id: "-a.service"}
	require.Equal(t, append(ctl, "restart", "--", "-a.service"), systemd{}.command(u, restart))
	require.Equal(t, append(ctl, "daemon-reload"), systemd{}.command(u, reread))
	u.fileState = "masked-runtime"
	require.Equal(t, append(ctl, "--runtime", "unmask", "--", "-a.service"), systemd{}.command(u, unmask))
	u.fileState = "enabled-runtime"
	require.Equal(t, append(ctl, "--runtime", "disable", "--", "-a.service"), systemd{}.command(u, disable))
}

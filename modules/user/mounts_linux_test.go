package user

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestWhatTheKernelRefuses uses mounts and flags on the paths of accounts and homes: the check refuses, and nothing is
// removed.
func TestWhatTheKernelRefuses(t *testing.T) { accountstest.Private(t, whatTheKernelRefuses) }

func whatTheKernelRefuses(t *testing.T) {
	const gone = `{"name":"bob","ensure":"absent","remove_home":true}`
	refused := func(properties, want string) {
		t.Helper()
		before := modtest.Snapshot(t, "/home")
		_, err := apply(t, properties)
		require.EqualError(t, err, want)
		require.Equal(t, before, modtest.Snapshot(t, "/home"))
	}
	require.NoError(t, os.MkdirAll("/home/bob/data", 0o755))
	require.NoError(t, os.WriteFile("/home/bob/.profile", nil, 0o644))
	for _, mount := range []func(*testing.T){
		func(t *testing.T) { modtest.Tmpfs(t, "/home/bob/data") },
		func(t *testing.T) { modtest.Bind(t, "/home/bob", "/home/bob/data") },
	} {
		t.Run("home", func(t *testing.T) {
			mount(t)
			refused(gone, "remove_home: /home/bob has file systems mounted in it: /home/bob/data; unmount them first")
		})
	}
	t.Run("home itself", func(t *testing.T) {
		modtest.Bind(t, "/home/bob", "/home/bob")
		refused(gone, "remove_home: /home/bob is a mount point; unmount it first")
	})
	t.Run("home of another user", func(t *testing.T) {
		require.NoError(t, os.MkdirAll("/home/bob/eve", 0o755))
		require.NoError(t, os.MkdirAll("/home/bound", 0o755))
		require.NoError(t, os.Symlink("bob/eve", "/home/link"))
		modtest.Bind(t, "/home/bob/eve", "/home/bound")
		before, err := os.ReadFile("/etc/passwd")
		require.NoError(t, err)
		for _, home := range []string{"/home/link", "/home/bound", "/home/bob/eve/"} {
			require.NoError(t, os.WriteFile("/etc/passwd", append(before, ("eve:x:1600:1600::"+home+":/bin/sh\n")...), 0o644))
			refused(gone, `remove_home: refusing to remove "/home/bob", which is needed for the home of user "eve"`)
		}
		require.NoError(t, os.WriteFile("/etc/passwd", before, 0o644))
	})
	t.Run("accounts", func(t *testing.T) {
		for _, file := range []string{"/etc/passwd", "/etc/shadow"} {
			modtest.Bind(t, file, file)
			for _, properties := range []string{gone, `{"name":"eve"}`, `{"name":"bob","comment":"Robert"}`} {
				refused(properties, file+" is a mount point; unmount it first")
			}
			require.NoError(t, modtest.Host().Mounts.Unmount(t.Context(), file))
		}
	})
	t.Run("immutable", func(t *testing.T) {
		modtest.Flag(t, "+i", "/etc/passwd")
		refused(`{"name":"eve"}`, `"/etc/passwd" is immutable, so it cannot be replaced or removed; run chattr -i /etc/passwd first`)
	})
}

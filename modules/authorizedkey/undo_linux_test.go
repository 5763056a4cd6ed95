package authorizedkey

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestMadeDirectoryGoes undoes a key for which ~/.ssh was made, and keeps a ~/.ssh that has more in it.
func TestMadeDirectoryGoes(t *testing.T) { accountstest.Private(t, madeDirectoryGoes) }

func madeDirectoryGoes(t *testing.T) {
	key := func() *AuthorizedKey { return &AuthorizedKey{Name: "n", User: "bob", Key: ann, Ensure: present} }
	modtest.Undone(t, "/home/bob", key())
	require.NoDirExists(t, "/home/bob/.ssh")
	require.NoError(t, os.Mkdir("/home/bob/.ssh", 0o700))
	modtest.Undone(t, "/home/bob", key())
	require.DirExists(t, "/home/bob/.ssh")
}

// TestAccountOfANameService uses a getent with a user that is in no file.
func TestAccountOfANameService(t *testing.T) { accountstest.Private(t, accountOfANameService) }

func accountOfANameService(t *testing.T) {
	getent := t.TempDir() + "/getent"
	script := "#!/bin/sh\ncase $2 in ann|2500) echo 'ann:*:2500:2500:Ann:/home/ann:/bin/sh';; *) exit 2;; esac\n"
	require.NoError(t, os.WriteFile(getent, []byte(script), 0o755))
	require.NoError(t, syscall.Mount(getent, "/usr/bin/getent", "", syscall.MS_BIND, ""))
	require.NoError(t, os.Mkdir("/home/ann", 0o755))
	require.NoError(t, os.Chown("/home/ann", 2500, 2500))
	k := &AuthorizedKey{Name: "n", User: "ann", Key: ann, Ensure: present}
	plan, err := k.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.NoError(t, k.Apply(t.Context(), modtest.Host(), plan))
	for path, mode := range map[string]os.FileMode{"/home/ann/.ssh": 0o700 | os.ModeDir, "/home/ann/.ssh/authorized_keys": 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
		require.Equal(t, []uint32{2500, 2500}, []uint32{info.Sys().(*syscall.Stat_t).Uid, info.Sys().(*syscall.Stat_t).Gid})
	}
	plan, err = k.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, plan)
	k.User = "nobody-knows"
	_, err = k.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, `user "nobody-knows": no such account`)
}

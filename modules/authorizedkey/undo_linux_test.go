package authorizedkey

import (
	"os"
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
	modtest.Undone(t, "/home/bob", func(modules.Resource) {}, key())
	require.NoDirExists(t, "/home/bob/.ssh")
	require.NoError(t, os.Mkdir("/home/bob/.ssh", 0o700))
	modtest.Undone(t, "/home/bob", func(modules.Resource) {}, key())
	require.DirExists(t, "/home/bob/.ssh")
}

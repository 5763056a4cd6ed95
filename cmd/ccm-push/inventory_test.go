package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// writeHosts writes an inventory of one host, in folders that are made.
func writeHosts(t *testing.T, path, host string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("all: {hosts: {"+host+": }}\n"), 0o644))
}

func TestDefaultInventory(t *testing.T) {
	dir := t.TempDir()
	home, config, work := filepath.Join(dir, "home"), filepath.Join(dir, "config"), filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	t.Chdir(work)
	environ := []string{"HOME=" + home}
	find := func(want string) {
		t.Helper()
		out, _, err := execute(t, environ, "--list-hosts", "all")
		require.NoError(t, err)
		require.Equal(t, want+"\n", out)
	}

	_, _, err := execute(t, environ, "--list-hosts", "all")
	require.EqualError(t, err, "no inventory: pass -i FILE, or create one of the files hosts.yaml, "+home+"/.config/ccm-push/hosts.yaml, /etc/ccm-push/hosts.yaml")

	writeHosts(t, filepath.Join(home, ".config/ccm-push/hosts.yaml"), "from-home")
	find("from-home")
	environ = append(environ, "XDG_CONFIG_HOME="+config)
	writeHosts(t, filepath.Join(config, "ccm-push/hosts.yaml"), "from-config")
	find("from-config")
	writeHosts(t, "hosts.yaml", "from-here")
	find("from-here")
	environ = append(environ, "CCM_PUSH_INVENTORY="+filepath.Join(dir, "named.yaml"))
	writeHosts(t, filepath.Join(dir, "named.yaml"), "from-environment")
	find("from-environment")
	out, _, err := execute(t, environ, "-i", "hosts.yaml", "--list-hosts", "all")
	require.NoError(t, err)
	require.Equal(t, "from-here\n", out)
}

func TestInventoryInAFolderThatEveryUserCanWriteTo(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeHosts(t, "hosts.yaml", "web1")
	require.NoError(t, os.Chmod(dir, 0o777))
	_, _, err := execute(t, nil, "--list-hosts", "all")
	require.EqualError(t, err, "hosts.yaml is in a folder that every user can write to; if you trust the folder, pass -i hosts.yaml")
	out, _, err := execute(t, nil, "--list-hosts", "-i", "hosts.yaml", "all")
	require.NoError(t, err)
	require.Equal(t, "web1\n", out)
}

func TestInventoryInAFolderOfAnotherUser(t *testing.T) {
	needs.Root(t, "only root can give a folder away")
	dir := t.TempDir()
	t.Chdir(dir)
	writeHosts(t, "hosts.yaml", "web1")
	require.NoError(t, os.Chown(dir, 12345, 12345))
	_, _, err := execute(t, nil, "--list-hosts", "all")
	require.EqualError(t, err, "hosts.yaml is in a folder of another user; if you trust the folder, pass -i hosts.yaml")
}

package playbooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

func TestCheckFiles(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "open"), []byte("x"), 0o644))
	require.NoError(t, os.Chmod(filepath.Join(home, "open"), 0o644)) // whatever the umask is
	require.NoError(t, os.WriteFile(filepath.Join(home, "junk"), []byte("x"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(home, "folder"), 0o700))
	const junk = "ssh: no key found\n  hint: name a private key file, such as ~/.ssh/id_ed25519"

	for _, test := range []struct {
		name    string
		text    string
		connect reach.Options
		want    string
	}{
		{"none named", "all: {hosts: {a: }}", reach.Options{}, ""},
		{"once for all hosts", "all:\n  connect: {private_key: /none/id}\n  hosts: {a: , b: , c: }\n", reach.Options{},
			"hosts.yaml:2:26: private key /none/id: no such file or directory"},
		{"once for all places", "all:\n  hosts:\n    a: {connect: {private_key: /none/id}}\n    b: {ansible_private_key_file: /none/id}\n", reach.Options{},
			"hosts.yaml:3:32: private key /none/id: no such file or directory"},
		{"all of them", "all:\n  hosts:\n    a: {connect: {private_key: [~/junk, ~/open], known_hosts: ~/folder}}\n    b: {connect: {private_key: ~/none}}\n", reach.Options{},
			"hosts.yaml:3:32: private key HOME/junk: " + junk + "\n" +
				"hosts.yaml:3:32: private key HOME/open: its mode 0644 lets other users read it\n  hint: run: chmod 600 HOME/open\n" +
				"hosts.yaml:3:63: known hosts HOME/folder: is a directory\n" +
				"hosts.yaml:4:32: private key HOME/none: no such file or directory"},
		{"of a jump host", "all:\n  hosts:\n    a: {connect: {jump: gate}}\ndmz:\n  hosts:\n    gate: {connect: {private_key: ~/junk}}\n", reach.Options{},
			"hosts.yaml:6:35: private key HOME/junk: " + junk},
		{"of the command line", "all: {hosts: {a: {connect: {private_key: ~/open}}}}", reach.Options{PrivateKeys: []string{"~/junk"}, KnownHosts: []string{"~/folder"}},
			"command line: --known-hosts: known hosts HOME/folder: is a directory\n" +
				"command line: --private-key: private key HOME/junk: " + junk},
	} {
		t.Run(test.name, func(t *testing.T) {
			inv, err := inventory.Parse("hosts.yaml", []byte(test.text))
			require.NoError(t, err)
			hosts, _, err := inv.Select("all:!dmz")
			require.NoError(t, err)
			r := &Runner{Inventory: inv, Dialer: &dial.Dialer{Home: home}, Connect: test.connect}
			err = r.CheckFiles(hosts)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, test.want, strings.ReplaceAll(err.Error(), home, "HOME"))
		})
	}
}

// TestBadKeyTouchesNoHost has one host with a good key, and one whose key is missing: that is not a fault of the host,
// and nothing begins.
func TestBadKeyTouchesNoHost(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	require.NoError(t, os.Remove(hosts["web2"].KeyFile))
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{id: }]}]}")
	_, err := w.Run(t.Context(), nil)
	require.ErrorContains(t, err, "no such file or directory")
	require.Empty(t, w.recorded.lines())
	require.Zero(t, hosts["web1"].Stats().Connections)
}

// TestRefusedOnce reports a mistake that concerns many hosts once.
func TestRefusedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ssh_config")
	require.NoError(t, os.WriteFile(path, []byte("Colour red\nTint blue\n"), 0o600))
	config, err := sshconfig.Load(sshconfig.Environment{LocalUser: "me", Home: "/home/me"}, sshconfig.File{Path: path, User: true, Named: true})
	require.NoError(t, err)
	inv, err := inventory.Parse("hosts.yaml", []byte("all:\n  hosts:\n    a[1:50]:\n"))
	require.NoError(t, err)
	r := &Runner{Inventory: inv, Connect: reach.Options{SSH: config}, Dialer: &dial.Dialer{}}
	require.EqualError(t, r.CheckFiles(inv.Hosts()), strings.ReplaceAll(`$FILE:1: unknown option "colour"
  hint: to ignore this option, write above it: IgnoreUnknown colour
$FILE:2: unknown option "tint"
  hint: to ignore this option, write above it: IgnoreUnknown tint`, "$FILE", path))
}

package auth_test

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good := sshtest.WriteKey(t, at("good"), "")
	sshtest.WriteKey(t, at("locked"), "secret")
	sshtest.WriteKey(t, at("open"), "")
	require.NoError(t, os.Chmod(at("open"), 0o644))
	require.NoError(t, os.WriteFile(at("good.pub"), ssh.MarshalAuthorizedKey(publicOf(t, good)), 0o644))
	require.NoError(t, os.WriteFile(at("putty"), []byte("PuTTY-User-Key-File-3: ssh-ed25519\n"), 0o600))
	require.NoError(t, os.WriteFile(at("empty"), nil, 0o600))
	broken := pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("openssh-key-v1\x00")})
	require.NoError(t, os.WriteFile(at("broken"), broken, 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))

	for _, test := range []struct {
		name  string
		keys  string
		known string
		agent string
		want  []string // without and with a hint
	}{
		{name: "good", keys: "good"},
		{name: "default files", keys: ""},
		{name: "missing", keys: "missing", want: []string{"private key DIR/missing: no such file or directory", ""}},
		{name: "readable by others", keys: "open", want: []string{"private key DIR/open: its mode 0644 lets other users read it", "run: chmod 600 DIR/open"}},
		{name: "a folder", keys: "folder", want: []string{"private key DIR/folder: it is not a regular file", ""}},
		{name: "a pipe", keys: "pipe", want: []string{"private key DIR/pipe: it is not a regular file", ""}},
		{name: "nothing in it", keys: "empty", want: []string{"private key DIR/empty: ssh: no key found", "name a private key file, such as ~/.ssh/id_ed25519"}},
		{name: "broken", keys: "broken", want: []string{"private key DIR/broken: ssh: parse error in message type 0", "name a private key file, such as ~/.ssh/id_ed25519"}},
		{name: "the public key", keys: "good.pub", want: []string{
			"private key DIR/good.pub: the file is a public key, and no SSH agent is running (SSH_AUTH_SOCK is not set)",
			"name the private key DIR/good; or start an agent and add the key: eval $(ssh-agent) && ssh-add DIR/good"}},
		{name: "PuTTY", keys: "putty", want: []string{"private key DIR/putty: ssh: no key found", "it has the format of PuTTY; convert it with puttygen -O private-openssh-new"}},
		{name: "encrypted", keys: "locked", want: []string{
			"private key DIR/locked: the key is encrypted, and no SSH agent is running (SSH_AUTH_SOCK is not set)",
			"start an agent and add the key: eval $(ssh-agent) && ssh-add DIR/locked"}},
		{name: "encrypted, with an agent", keys: "locked", agent: "socket"},
		{name: "encrypted, beside another", keys: "locked good"},
		{name: "two bad ones", keys: "open missing good", want: []string{
			"private key DIR/open: its mode 0644 lets other users read it", "run: chmod 600 DIR/open",
			"private key DIR/missing: no such file or directory", ""}},
		{name: "known hosts", keys: "good", known: "folder", want: []string{"known hosts DIR/folder: is a directory", ""}},
		{name: "known hosts that are not there yet", keys: "good", known: "missing"},
		{name: "control characters", keys: "\x1b[2J", want: []string{`private key DIR/\x1b[2J: no such file or directory`, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := transport.Target{}
			for _, name := range strings.Fields(test.keys) {
				target.PrivateKeys = append(target.PrivateKeys, "~/"+name)
			}
			if test.known != "" {
				target.KnownHosts = []string{"~/" + test.known}
			}
			d := &dial.Dialer{Home: dir, AgentSocket: test.agent}
			var got []string
			for _, e := range d.CheckFiles(target) {
				got = append(got, masked(e, dir, "DIR"), strings.ReplaceAll(e.Hint, dir, "DIR"))
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestUnreadableKey(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("NOT TESTED: root can read every file")
	}
	file := filepath.Join(t.TempDir(), "id")
	sshtest.WriteKey(t, file, "")
	require.NoError(t, os.Chmod(file, 0))
	found := (&dial.Dialer{}).CheckFiles(transport.Target{PrivateKeys: []string{file}})
	require.Len(t, found, 1)
	require.EqualError(t, found[0], "private key "+file+": permission denied")
}

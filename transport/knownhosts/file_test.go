package knownhosts

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestLinesOfGrowingFile holds what is taken in line by line against what is read
// at once.
func TestLinesOfGrowingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known_hosts")
	grown := open(t, file)
	var hosts []Host
	for i := range 20 {
		host := Host{Name: fmt.Sprintf("web%d", i), Hidden: i%2 == 0}
		hosts = append(hosts, host)
		require.NoError(t, grown.Accept(t.Context(), host, sshtest.NewKey(t, "").PublicKey()))
		if i == 10 { // somebody else adds a comment, and no end of line
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString("# x\n# y")
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	whole := open(t, file)
	for _, host := range hosts {
		want, _, _ := whole.linesFor(host)
		got, _, _ := grown.linesFor(host)
		require.Len(t, got, 1)
		require.Equal(t, want[0].where(), got[0].where())
		require.True(t, SameKey(want[0].key, got[0].key))
	}
}

// TestNamesOfIPv6 writes them as OpenSSH does, and reads what it has hidden.
func TestNamesOfIPv6(t *testing.T) {
	key := sshtest.NewKey(t, "").PublicKey()
	host := Host{Name: "2001:db8::1"}
	require.Equal(t, "2001:db8::1 "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), host.Line(key))
	host.Hidden = true
	lines := parse("f", []byte(host.Line(key)))
	require.True(t, lines[0].matches("2001:db8::1"))
}

// TestIndexedLines holds the look-up by name against asking every line.
func TestIndexedLines(t *testing.T) {
	words := []string{"a", "b", "[a]:2222", "[b]:22", "*", "a*", "!a", "!b*", "B", xknownhosts.HashHostname("a"), xknownhosts.HashHostname("[a]:2222"), ",", "|1|x"}
	signers := []ssh.Signer{sshtest.NewKey(t, ""), sshtest.NewKey(t, ""), sshtest.NewKey(t, "ecdsa")}
	for range 300 {
		var text strings.Builder
		for range rand.N(12) {
			marker := []string{"", "", "@cert-authority ", "@revoked "}[rand.N(4)]
			var names []string
			for range 1 + rand.N(3) {
				names = append(names, words[rand.N(len(words))])
			}
			text.WriteString(marker + strings.Join(names, ",") + " " + sshtest.PublicLine(signers[rand.N(len(signers))]) + "\n")
		}
		lines := parse("f", []byte(text.String()))
		indexed := newParsed("f", nil, []byte(text.String()))
		for _, name := range []string{"a", "b", "[a]:2222", "c"} {
			var want []entry
			for _, l := range lines {
				if l.marker != revoked && l.matches(name) {
					want = append(want, l)
				}
			}
			require.Equal(t, places(want), places(indexed.linesFor(name)), "%s in\n%s", name, text.String())
		}
	}
}

// TestOnlyFilesAreReplaced has what is no file in the place of one, as /dev/null may
// be for root: another file in its place would be bad for the whole machine.
func TestOnlyFilesAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.EqualError(t, appendWhole(f, "web1 ssh-ed25519 AAAA\n"), "it is no regular file")
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}

package knownhosts

import (
	"errors"
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

// TestLinesOfGrowingFile compares a file that is read line by line with one that is read at once.
func TestLinesOfGrowingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known_hosts")
	grown := open(t, file)
	var hosts []Host
	for i := range 20 {
		host := Host{Name: fmt.Sprintf("web%d", i), Hidden: i%2 == 0}
		hosts = append(hosts, host)
		require.NoError(t, grown.Accept(t.Context(), host, sshtest.NewKey(t, "").PublicKey()))
		if i == 10 { // another program appends a comment without a line end
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

// TestNamesOfIPv6 writes names as OpenSSH does, and finds hashed ones.
func TestNamesOfIPv6(t *testing.T) {
	key := sshtest.NewKey(t, "").PublicKey()
	host := Host{Name: "2001:db8::1"}
	require.Equal(t, "2001:db8::1 "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), host.Line(key))
	host.Hidden = true
	lines := parse("f", []byte(host.Line(key)))
	require.True(t, lines[0].matches("2001:db8::1"))
}

// TestIndexedLines compares the lookup by name with a search of all lines.
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

// TestOnlyFilesAreReplaced puts another kind of file in the place of known_hosts, as /dev/null may be for root:
// replacing it would damage the machine.
func TestOnlyFilesAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := openLocked(t.Context(), path, nil)
	require.NoError(t, err)
	defer f.Close()
	require.EqualError(t, appendWhole(f, "web1 ssh-ed25519 AAAA\n"), "it is not a regular file")
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}

// TestFileDir adds keys where FileDir leads, and nowhere if it refuses.
func TestFileDir(t *testing.T) {
	folder := t.TempDir()
	refused := errors.New("another user's link")
	at := func(name string, err error) Files {
		file := filepath.Join(folder, "known_hosts")
		return Files{AddTo: file, Read: []string{file}, FileDir: func(path string) (*os.Root, string, error) {
			require.Equal(t, file, path)
			if err != nil {
				return nil, "", err
			}
			dir, err := os.OpenRoot(folder)
			return dir, name, err
		}}
	}
	host, key := Host{Name: "web1"}, sshtest.NewKey(t, "").PublicKey()
	add := []func(Files) error{
		func(f Files) error {
			view, err := new(Store).Open(f)
			require.NoError(t, err)
			return view.Accept(t.Context(), host, key)
		},
		func(f Files) error {
			return errors.Join(new(Store).Trust(t.Context(), []Trusted{{Host: host, Files: f, Keys: []ssh.PublicKey{key}}})...)
		},
	}
	for n, add := range add {
		require.ErrorIs(t, add(at("known_hosts", refused)), refused)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, n)
		name := fmt.Sprintf("there%d", n)
		require.NoError(t, add(at(name, nil)))
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, host.Line(key)+"\n", string(text))
	}
}

// TestHostileFiles reads paths that are not files of keys, without waiting and up to the limit.
func TestHostileFiles(t *testing.T) {
	folder := t.TempDir()
	pipe, sparse := filepath.Join(folder, "pipe"), filepath.Join(folder, "sparse")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(sparse, nil, 0o600))
	require.NoError(t, os.Truncate(sparse, 1<<40))
	for _, test := range []struct{ path, want string }{
		{pipe, ""}, {os.DevNull, ""}, {sparse, "it is larger than 64 MiB"}, {"/dev/zero", "it is larger than 64 MiB"}, {folder, "is a directory"},
	} {
		for _, files := range []Files{{Read: []string{test.path}}, {Revoked: test.path}} {
			_, err := new(Store).Open(files)
			if test.want == "" {
				require.NoError(t, err, test.path)
				continue
			}
			require.ErrorContains(t, err, test.want, test.path)
		}
	}
}

package sshtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial logs in with the files that the server has written.
func dial(t testing.TB, s *Server) *ssh.Client {
	t.Helper()
	key, err := os.ReadFile(s.KeyFile)
	require.NoError(t, err)
	signer, err := ssh.ParsePrivateKey(key)
	require.NoError(t, err)
	known, err := knownhosts.New(s.KnownHosts)
	require.NoError(t, err)
	c, err := ssh.Dial("tcp", s.Addr, &ssh.ClientConfig{User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: known})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestExec(t *testing.T) {
	s := Start(t, Env("EXTRA=1"))
	c := dial(t, s)
	for _, test := range []struct {
		command, stdout, stderr, err string
	}{
		{"echo out; echo err >&2", "out\n", "err\n", ""},
		{"cat", "input", "", ""},
		{"pwd; echo $HOME $USER $EXTRA", s.Home + "\n" + s.Home + " deploy 1\n", "", ""},
		{"exit 3", "", "", "Process exited with status 3"},
		{"kill -TERM $$", "", "", "Process exited with status 143 from signal TERM"},
	} {
		t.Run(test.command, func(t *testing.T) {
			session, err := c.NewSession()
			require.NoError(t, err)
			defer session.Close()
			var stdout, stderr bytes.Buffer
			session.Stdin, session.Stdout, session.Stderr = strings.NewReader("input"), &stdout, &stderr
			err = session.Run(test.command)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.err)
			}
			require.Equal(t, test.stdout, stdout.String())
			require.Equal(t, test.stderr, stderr.String())
		})
	}
}

func TestProcessesEndWithTheChannel(t *testing.T) {
	s := Start(t)
	c := dial(t, s)
	session, err := c.NewSession()
	require.NoError(t, err)
	out, err := session.StdoutPipe()
	require.NoError(t, err)
	// The grandchild holds a pipe whose other end we can watch.
	fifo := filepath.Join(s.Home, "fifo")
	require.NoError(t, session.Start("mkfifo fifo; (echo up; exec sleep 1000) >fifo & echo ready; wait"))
	line := make([]byte, len("ready\n"))
	_, err = io.ReadFull(out, line)
	require.NoError(t, err)
	f, err := os.Open(fifo)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.ReadFull(f, line[:3])
	require.NoError(t, err)
	require.NoError(t, session.Close())
	_, err = io.ReadAll(f) // ends when the grandchild does
	require.NoError(t, err)
}

func TestSFTP(t *testing.T) {
	s := Start(t)
	client, err := sftp.NewClient(dial(t, s))
	require.NoError(t, err)
	f, err := client.Create("file")
	require.NoError(t, err)
	_, err = f.Write([]byte("text"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, client.Close())
	text, err := os.ReadFile(filepath.Join(s.Home, "file"))
	require.NoError(t, err)
	require.Equal(t, "text", string(text))

	_, err = sftp.NewClient(dial(t, Start(t, NoSFTP())))
	require.EqualError(t, err, "ssh: subsystem request failed")
}

func TestJump(t *testing.T) {
	jump, host := Start(t), Start(t)
	conn, err := dial(t, jump).Dial("tcp", host.Addr)
	require.NoError(t, err)
	defer conn.Close()
	version := make([]byte, 4)
	_, err = io.ReadFull(conn, version)
	require.NoError(t, err)
	require.Equal(t, "SSH-", string(version))
	require.EqualValues(t, 1, jump.Stats().Forwards)
}

func TestStats(t *testing.T) {
	s := Start(t)
	session, err := dial(t, s).NewSession()
	require.NoError(t, err)
	require.NoError(t, session.Run("true"))
	stats := s.Stats()
	require.EqualValues(t, 1, stats.Connections)
	require.EqualValues(t, 1, stats.Sessions)
	require.EqualValues(t, 1, stats.Execs)
	require.Positive(t, stats.Turns)
	require.Positive(t, stats.Sent)
	require.Positive(t, stats.Received)
}

func TestRTTDelaysButDoesNotThrottle(t *testing.T) {
	const rtt = 20 * time.Millisecond
	s := Start(t, RTT(rtt))
	c := dial(t, s)
	began := time.Now()
	_, _, err := c.SendRequest("keepalive@openssh.com", true, nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), rtt)
	session, err := c.NewSession()
	require.NoError(t, err)
	out, err := session.Output("head -c 4000000 /dev/zero")
	require.NoError(t, err)
	require.Len(t, out, 4000000)
}

func TestKillAfter(t *testing.T) {
	s := Start(t, KillAfter(100_000))
	session, err := dial(t, s).NewSession()
	require.NoError(t, err)
	_, err = session.Output("head -c 1000000 /dev/zero")
	require.Error(t, err)
	require.LessOrEqual(t, s.Stats().Sent, int64(100_000))
}

func TestCloseRemovesItsDirectory(t *testing.T) {
	s, err := Serve(t.Context(), Config{})
	require.NoError(t, err)
	require.FileExists(t, s.KeyFile)
	require.NoError(t, s.Close())
	require.NoDirExists(t, filepath.Dir(s.KeyFile))
}

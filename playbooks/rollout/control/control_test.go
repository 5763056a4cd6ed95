package control

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// folder is a private one, at a path of some length or more.
func folder(t *testing.T, length int) string {
	dir := t.TempDir()
	for len(dir) < length {
		dir = filepath.Join(dir, strings.Repeat("x", 50))
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

// served listens in a folder, and answers each command with itself.
func served(t *testing.T, dir string, times times) *Server {
	requests := make(chan rollout.Request)
	s, err := listen(dir, requests, times)
	require.NoError(t, err)
	require.True(t, Listens(dir))
	ended := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-requests:
				r.Answer(rollout.Reply{Error: string(r.Verb) + " " + r.Host + " " + r.By})
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		close(stop)
		<-ended
		require.NoFileExists(t, filepath.Join(dir, socket))
	})
	return s
}

var usual = times{commandTime, replyTime}

func TestSend(t *testing.T) {
	for _, length := range []int{0, 200} { // longer than the path of a socket can be
		dir := folder(t, length)
		_, err := Send(t.Context(), dir, rollout.Command{Verb: rollout.Ask})
		require.ErrorIs(t, err, ErrNobody)
		served(t, dir, usual)
		info, err := os.Stat(filepath.Join(dir, socket))
		require.NoError(t, err)
		require.Equal(t, os.ModeSocket|0o600, info.Mode())
		reply, err := Send(t.Context(), dir, rollout.Command{Verb: rollout.ReleaseHost, Host: "web1", By: "ann@desk"})
		require.NoError(t, err)
		require.Equal(t, rollout.Reply{Error: "release web1 ann@desk"}, reply)
	}
}

func TestManyClients(t *testing.T) {
	dir := folder(t, 0)
	served(t, dir, usual)
	var clients sync.WaitGroup
	errs := make([]error, 3*mostClients)
	for i := range errs {
		clients.Go(func() { _, errs[i] = Send(t.Context(), dir, rollout.Command{Verb: rollout.Ask}) })
	}
	clients.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// TestSocketOfTheDead has a program that was killed leave its socket.
func TestSocketOfTheDead(t *testing.T) {
	dir := folder(t, 0)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socket), Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	_, err = Listen(dir, nil)
	require.ErrorContains(t, err, "address already in use", "it lives")
	require.NoError(t, dead.Close())
	require.FileExists(t, filepath.Join(dir, socket))
	_, err = Send(t.Context(), dir, rollout.Command{Verb: rollout.Ask})
	require.ErrorIs(t, err, ErrNobody)
	served(t, dir, usual)
	_, err = Send(t.Context(), dir, rollout.Command{Verb: rollout.Ask})
	require.NoError(t, err)
}

func TestListenInAPrivateFolder(t *testing.T) {
	dir := folder(t, 0)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	_, err := Listen(link, nil)
	require.EqualError(t, err, link+" is not a folder")
	require.NoError(t, os.Chmod(dir, 0o750))
	_, err = Listen(dir, nil)
	require.EqualError(t, err, dir+" can be opened by others (-rwxr-x---)")
	require.NoFileExists(t, filepath.Join(dir, socket))
	_, err = Listen(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// said writes bytes to a server, and returns the complete answer.
func said(t *testing.T, dir, text string) string {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(dir, socket), Net: "unix"})
	require.NoError(t, err)
	defer conn.Close()
	_, _ = io.WriteString(conn, text) // which it need not read
	_ = conn.CloseWrite()
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return answer
}

func TestHostileClients(t *testing.T) {
	dir := folder(t, 0)
	served(t, dir, usual)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", `{"error":"no command"}`},
		{"an empty line", "\n", `{"error":"no command"}`},
		{"half a line", `{"verb":"go"}`, `{"error":"a command ends with a newline"}`},
		{"no JSON", "go\n", `{"error":"this is not a command: invalid character 'g' looking for beginning of value"}`},
		{"another shape", "{\"verb\":[1]}\n", `{"error":"this is not a command: json: cannot unmarshal array into Go struct field Command.verb of type rollout.Verb"}`},
		{"two lines", "{\"verb\":\"hold\"}\n{\"verb\":\"go\"}\n", `{"error":"hold  "}`},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want+"\n", said(t, dir, c.text)) })
	}
	// Unread input may be answered by a reset.
	require.Subset(t, []string{"", "{\"error\":\"a command has no more than 4096 bytes\"}\n"}, []string{said(t, dir, strings.Repeat("x", 4<<20))})
	_, err := Send(t.Context(), dir, rollout.Command{Verb: rollout.Ask})
	require.NoError(t, err, "it goes on")
}

// TestSilentClients hold all places until their time is over.
func TestSilentClients(t *testing.T) {
	dir := folder(t, 0)
	served(t, dir, times{command: 10 * time.Millisecond, reply: replyTime})
	var conns []net.Conn
	for range mostClients {
		conn, err := net.Dial("unix", filepath.Join(dir, socket))
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Contains(t, string(answer), "reading a command: ")
		require.NoError(t, conn.Close())
	}
}

// TestNobodyListens has the rollout take no request, or give no answer.
func TestNobodyListens(t *testing.T) {
	dir := folder(t, 0)
	requests := make(chan rollout.Request)
	s, err := listen(dir, requests, times{commandTime, time.Millisecond})
	require.NoError(t, err)
	reply, err := Send(t.Context(), dir, rollout.Command{Verb: rollout.Go})
	require.NoError(t, err)
	require.Equal(t, "no rollout of this run has listened for 1ms: it may be at another play", reply.Error)
	require.NoError(t, s.Close())

	s, err = listen(dir, requests, usual)
	require.NoError(t, err)
	replies := make(chan rollout.Reply, 1)
	go func() {
		r, _ := Send(context.WithoutCancel(t.Context()), dir, rollout.Command{Verb: rollout.Go})
		replies <- r
	}()
	request := <-requests
	require.NoError(t, s.Close())
	require.Equal(t, rollout.Reply{Error: "the run has ended"}, <-replies)
	request.Answer(rollout.Reply{}) // too late: the client has given up
}

// TestCloseDoesNotWait checks that Close does not wait for a silent client.
func TestCloseDoesNotWait(t *testing.T) {
	dir := folder(t, 0)
	s, err := listen(dir, nil, times{command: time.Hour, reply: time.Hour})
	require.NoError(t, err)
	conn, err := net.Dial("unix", filepath.Join(dir, socket))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, s.Close())
}

func TestSendIsCancelled(t *testing.T) {
	dir := folder(t, 0)
	requests := make(chan rollout.Request)
	s, err := Listen(dir, requests)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Send(ctx, dir, rollout.Command{Verb: rollout.Go})
		ended <- err
	}()
	<-requests
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, s.Close())
}

func FuzzReadCommand(f *testing.F) {
	for _, text := range []string{"", "\n", "{}\n", `{"verb":"release","host":"web1","by":"ann@desk"}` + "\n", `{"verb":1}` + "\n", `{"verb":"go"}`, strings.Repeat("x", longestCommand+1)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readCommand(strings.NewReader(text))
		if err != nil {
			require.Equal(t, rollout.Command{}, c)
			return
		}
		var again strings.Builder
		reply, err := converse(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(`{"error":"no"}`), &again}, c)
		require.NoError(t, err)
		require.Equal(t, "no", reply.Error)
		got, err := readCommand(strings.NewReader(again.String()))
		if len(again.String()) <= longestCommand { // escapes may be longer
			require.NoError(t, err)
			require.Equal(t, c, got)
		}
	})
}

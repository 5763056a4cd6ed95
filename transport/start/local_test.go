package start

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// local returns a Client for this machine, with a home directory of its own.
func local(t *testing.T, env ...string) (c *transport.Client, home string) {
	t.Helper()
	home = t.TempDir()
	me, err := user.Current()
	require.NoError(t, err)
	d := &dial.Dialer{LocalEnv: append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)}
	c, err = d.Dial(t.Context(), transport.Target{Host: "me", User: me.Username, Local: true})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c, home
}

func TestLocalStart(t *testing.T) {
	t.Setenv("CCM_PUSH_TEST_SECRET", "hunter2")
	c, home := local(t)
	for _, uploaded := range []bool{true, false} {
		start := newStart(hello(t))
		p, err := Program(t.Context(), c, start)
		require.NoError(t, err)
		require.Equal(t, uploaded, p.Uploaded)
		require.Contains(t, string(p.Hello()), fmt.Sprintf(`"dir":%q,"uid":%d,"home":%q`, filepath.Join(home, ".cache/ccm-push"), os.Getuid(), home))
		requireEcho(t, p)
		require.NoError(t, p.Close())
	}
	select {
	case <-c.Done():
		t.Fatal("it has ended by itself")
	default:
	}
	require.NoError(t, c.Close())
	<-c.Done()
	_, err := Program(t.Context(), c, newStart(hello(t)))
	require.EqualError(t, err, "me: start local: file already closed")
}

func TestLocalExit(t *testing.T) {
	c, _ := local(t)
	start := newStart(hello(t))
	start.Facts = "exit7"
	p, err := Program(t.Context(), c, start)
	require.NoError(t, err)
	out, err := io.ReadAll(p.Stdout())
	require.NoError(t, err)
	require.Empty(t, out)
	for range 2 {
		require.Equal(t, &transport.ExitError{Code: 7, Stderr: "hello on stderr\n"}, p.Wait())
	}
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
}

// TestLocalEnd runs a program that ends when its input ends.
func TestLocalEnd(t *testing.T) {
	c, _ := local(t)
	p, err := Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = io.ReadAll(p.Stdout())
	require.NoError(t, err)
	require.NoError(t, p.Wait(), "it was not killed")
	_, err = p.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestLocalErrors(t *testing.T) {
	bin := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "ls"), []byte("#!/bin/sh\n"+text), 0o755))
	}
	c, home := local(t, "PATH="+bin+":"+os.Getenv("PATH"))
	require.NoError(t, os.MkdirAll(filepath.Join(home, cacheDir), 0o700)) // which the script looks at
	other := hello(t)
	other.Arch = "sparc64"
	_, err := Program(t.Context(), c, newStart(other))
	require.ErrorIs(t, err, transport.ErrNoBuild)
	write("kill -SEGV $PPID\n")
	_, err = Program(t.Context(), c, newStart(hello(t)))
	require.EqualError(t, err, "me: start local: the host program did not answer: killed by signal SEGV")

	write("exec sleep 1000\n")
	start := newStart(hello(t))
	start.Timeout = shortTimeout
	_, err = Program(t.Context(), c, start)
	require.EqualError(t, err, "me: start local: timed out after 300ms")
	<-c.Done()
}

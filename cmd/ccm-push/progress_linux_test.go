package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

func TestUnknownProgressMode(t *testing.T) {
	_, _, err := execute(t, nil, "--progress", "bar", "x")
	require.EqualError(t, err, `--progress "bar": use auto, live, plain or none`)
}

// A watched is a program on a terminal, all of whose output is kept.
type watched struct {
	*alone
	terminal *os.File
	read     sync.WaitGroup
	mu       sync.Mutex
	output   bytes.Buffer
}

// watch starts a run on a terminal, with an environment that sets no progress mode. On Ctrl-C, a terminal drops text
// that it has not shown yet, unless it has noflsh (termios(3)).
func watch(t *testing.T, flags string) *watched {
	t.Helper()
	w := &watched{alone: pushAlone(t, "true", "stty noflsh; exec ccm-push --ssh-config=none -i hosts.yaml "+flags+" site.yaml")}
	w.cmd.Env = append(w.cmd.Env, "TERM=xterm", "CI=", "ACCESSIBLE=")
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 100})
	require.NoError(t, err)
	w.follow()
	return w
}

// follow keeps the text written to the terminal.
func (w *watched) follow() {
	w.read.Go(func() { // until the last program on it has ended
		b := make([]byte, 4096)
		for {
			n, err := w.terminal.Read(b)
			w.mu.Lock()
			w.output.Write(b[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.output.String()
}

// shows waits until something has been written.
func (w *watched) shows(text string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return strings.Contains(w.text(), text) }, time.Minute, 5*time.Millisecond, "%s", text)
}

// end waits for the end, and returns the text that remains on the terminal after all drawings: each is erased by the
// next.
func (w *watched) end() (stayed string, status int) {
	w.t.Helper()
	status = w.status()
	w.read.Wait()
	w.terminal.Close()
	const erased = "\r\x1b[J"
	for i, part := range strings.Split(w.text(), erased) {
		kept, drawn, _ := strings.Cut(part, "\x1b[?7l")
		stayed += kept
		if i == strings.Count(w.text(), erased) {
			require.Empty(w.t, drawn, "the last drawing is erased")
		}
	}
	return regexp.MustCompile(`\x1b\[[0-9?]*[a-zA-Z]`).ReplaceAllString(strings.ReplaceAll(stayed, "\r", ""), ""), status
}

// TestLiveOnATerminal ends a run on a terminal in each possible way, and checks that its display is gone.
func TestLiveOnATerminal(t *testing.T) {
	const stopping = "ccm-push: stopping after the running resources; press Ctrl-C again to kill them\n"
	const ctrlC = "\x03"
	for _, test := range []struct {
		name, keys string // pressed one after the other, while the first resource is running
		ends       bool   // it may end by itself then
		want       string
		status     int
	}{
		{"by itself", "", true, "web1  changed  exec#first  executed\n", 0},
		{"Ctrl-C", ctrlC, true, stopping, exit.Interrupted},
		{"Ctrl-C twice", ctrlC + ctrlC, false, "ccm-push: killing the running resources on the hosts\n", exit.Interrupted},
		{"Ctrl-C three times", ctrlC + ctrlC + ctrlC, false, stopping, exit.Interrupted},
		{"SIGTERM", "T", true, stopping, exit.Interrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := watch(t, "")
			w.awaits("began")
			w.shows("0/1 done · web1 exec#first ")
			for i, key := range test.keys {
				if key == 'T' {
					require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
				} else {
					_, err := w.terminal.WriteString(string(key))
					require.NoError(t, err)
				}
				w.shows([]string{"stopping after", "killing the", ""}[i])
			}
			if test.ends {
				w.begins()
			}
			stayed, status := w.end()
			require.Equal(t, test.status, status, stayed)
			require.Contains(t, stayed, test.want)
			require.NotContains(t, stayed, "done · ")
		})
	}
}

// TestNoLiveView has a terminal on which nothing is drawn.
func TestNoLiveView(t *testing.T) {
	for _, flags := range []string{"--progress none", "--progress plain", "--output json"} {
		t.Run(flags, func(t *testing.T) {
			w := watch(t, flags)
			w.begins()
			_, status := w.end()
			require.Zero(t, status)
			require.Equal(t, 3, strings.Count(w.text(), "executed"), w.text())
			require.NotContains(t, w.text(), "\x1b[J")
		})
	}
}

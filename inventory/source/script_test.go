package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write makes an executable script and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

func TestAnswers(t *testing.T) {
	t.Chdir(filepath.Dir(write(t, `#!/bin/sh
case $1 in
--list) echo '{"web": ["a"]}';;
--host) case $2 in none) ;; bad) exit 3;; *) echo "{\"me\": \"$2\"}";; esac;;
esac
`)))
	s := Script{Path: "inv"}
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"web": []any{"a"}}, list.Any())
	require.Equal(t, "inv --list:1:9", list.Get("web").Pos())

	answers := s.Hosts(t.Context(), []string{"a", "none", "bad", "b"})
	require.Len(t, answers, 4)
	require.Equal(t, map[string]any{"me": "a"}, answers[0].Vars.Any())
	require.Equal(t, ScriptAnswer{}, answers[1])
	require.EqualError(t, answers[2].Err, "inv --host bad: the inventory script failed: exit status 3")
	require.Equal(t, "inv --host b:1:2", answers[3].Vars.Pairs[0].Key.Pos())
}

func TestBounds(t *testing.T) {
	endless := "#!/bin/sh\nwhile :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n"
	slow := "#!/bin/sh\nsleep 1000 & sleep 1000\n"
	leaves := "#!/bin/sh\nsleep 1000 >/dev/null 2>&1 &\necho \"{\\\"g$!\\\": []}\"\n"
	t.Run("output", func(t *testing.T) {
		path := write(t, endless)
		_, err := Script{Path: path, Timeout: time.Hour, MaxBytes: 1 << 20}.List(t.Context())
		require.EqualError(t, err, path+" --list: prints more than 1 MiB")
	})
	t.Run("time", func(t *testing.T) {
		path := write(t, slow)
		_, err := Script{Path: path, Timeout: 50 * time.Millisecond}.List(t.Context())
		require.EqualError(t, err, path+" --list: does not end within 50ms")
	})
	t.Run("the end of the context", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		path := write(t, slow)
		_, err := Script{Path: path, Timeout: time.Hour}.List(ctx)
		require.EqualError(t, err, path+" --list: interrupted")
	})
	t.Run("what it leaves behind", func(t *testing.T) {
		n, err := Script{Path: write(t, leaves), Timeout: time.Hour}.List(t.Context())
		require.NoError(t, err)
		pid := strings.TrimPrefix(n.Pairs[0].Key.Text, "g")
		require.Eventually(t, func() bool { // it is killed, and then the kernel must report that
			out, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
			stat := strings.TrimSpace(string(out))
			return stat == "" || stat[0] == 'Z'
		}, time.Minute, 10*time.Millisecond)
	})
}

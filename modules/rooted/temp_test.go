package rooted

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSweep(t *testing.T) {
	path := t.TempDir()
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	defer dir.Close()
	const hex = ".ccm-0123456789abcdef"
	for _, name := range []string{".f" + hex, hex, ".f.ccm-0123456789abcde", "f" + hex, ".f.ccm-part", ".f" + hex + "0"} {
		require.NoError(t, dir.WriteFile(name, []byte("x"), 0o600))
	}
	for _, name := range []string{".d" + hex + "/a/b", ".full" + hex + "/a"} {
		require.NoError(t, dir.MkdirAll(name, 0o700))
	}
	require.NoError(t, dir.WriteFile(".full"+hex+"/a/f", nil, 0o600))
	require.NoError(t, dir.Symlink("f", ".l"+hex))
	alive, temp, err := CreateTemp(dir, "alive")
	require.NoError(t, err)
	Sweep(dir)
	require.ElementsMatch(t, []string{".f.ccm-0123456789abcde", "f" + hex, ".f.ccm-part", ".f" + hex + "0", ".full" + hex, ".l" + hex, temp}, namesIn(t, path))
	require.NoError(t, alive.Close())
	Sweep(dir)
	require.NotContains(t, namesIn(t, path), temp, "whoever held it has ended")
}

func namesIn(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const killedEnv = "CCM_KILLED"

// TestKilled kills a writer at any moment. The next one sweeps.
func TestKilled(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" {
		write(t, path)
		return
	}
	path := t.TempDir()
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	defer dir.Close()
	left := 0
	for i := range 25 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), killedEnv+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 1)) // it has begun
		require.NoError(t, err)
		time.Sleep(time.Duration(i*137) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		for _, name := range namesIn(t, path) {
			if name != "f" {
				left++
			}
		}
		Sweep(dir)
		require.Subset(t, []string{"f"}, namesIn(t, path))
	}
	require.NotZero(t, left, "no kill has left anything")
}

func write(t *testing.T, path string) {
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	for n := 0; ; n++ {
		file, temp, err := CreateTemp(dir, "f")
		require.NoError(t, err)
		if n == 0 {
			os.Stdout.WriteString("begun")
		}
		_, err = file.Write(make([]byte, 100_000))
		require.NoError(t, err)
		require.NoError(t, file.Sync())
		require.NoError(t, dir.Rename(temp, filepath.Base("f")))
		file.Close()
	}
}

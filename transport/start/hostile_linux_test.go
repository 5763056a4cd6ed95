package start

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSwapsWhileCleaning swaps the directory for a link again and again while it is cleaned.
func TestSwapsWhileCleaning(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, ".cache/ccm-push")
	precious := filepath.Join(home, "precious")
	require.NoError(t, os.MkdirAll(cache, 0o700))
	require.NoError(t, os.Mkdir(precious, 0o700))
	file := filepath.Join(precious, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(precious, link))
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, cache, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	defer swapping.Wait()
	defer close(stop)
	text := strings.NewReplacer(" /var/", " "+home+"/var/", " /tmp/", " "+home+"/tmp/", " $r/", " "+home+"/run/").Replace(footprintScript)
	saved := 0
	for range 200 {
		os.Mkdir(cache, 0o700) // it may have been removed
		cmd := exec.Command("/bin/sh", "-c", text, "sh", testNonce, "remove")
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.Output()
		require.NoError(t, err)
		require.FileExists(t, file, string(out))
		saved += strings.Count(string(out), "skip:"+testNonce+":owner:")
	}
	t.Logf("%d links were found only behind them", saved)
}

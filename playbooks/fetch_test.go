package playbooks

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestFetchReconnects loses the connection during a file: the file is sent again, completely, and earlier resources do
// not run again.
func TestFetchReconnects(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	random := rand.NewChaCha8([32]byte{1}) // which cannot be compressed
	file := make([]byte, 2<<20)
	_, err := random.Read(file)
	require.NoError(t, err)
	fetch := func(t *testing.T, after int64) *cutter {
		t.Helper()
		srv := sshtest.Start(t, sshtest.Outlive())
		home := t.TempDir()
		c := between(t, srv, after, true, reset)
		require.NoError(t, os.WriteFile(filepath.Join(home, "big"), file, 0o600))
		w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, `
- name: site
  ccm:
    resources:
      - exec: ["echo one >> `+home+`/ran": {provider: shell}]
      - fetch: [`+home+`/big: {}]
`)
		w.withFull(t)
		w.Options.NoLock, w.Options.LockTimeout, w.Options.Reconnect = false, time.Minute, time.Minute
		store := record.Store{Folder: t.TempDir()}
		require.NoError(t, os.Mkdir(store.FolderOf("run"), 0o700))
		w.Fetched = store.Fetched("run")
		_, err := w.Run(t.Context(), nil)
		require.NoError(t, err)
		var told []string
		for _, e := range w.recorded.list {
			if r, ok := e.(events.Result); ok {
				told = append(told, r.Type+" "+string(r.Status)+" "+r.Error)
			}
		}
		require.Equal(t, []string{"exec changed ", "fetch stable "}, told, "%s", w.text)
		here, err := os.ReadFile(w.Fetched.Place("web1", home+"/big", false))
		require.NoError(t, err)
		require.Equal(t, len(file), len(here))
		require.True(t, string(file) == string(here), "other bytes")
		left, err := os.ReadDir(filepath.Dir(w.Fetched.Place("web1", home+"/big", false)))
		require.NoError(t, err)
		require.Len(t, left, 1, "a part is left")
		ran, err := os.ReadFile(filepath.Join(home, "ran"))
		require.NoError(t, err)
		require.Equal(t, "one\n", string(ran))
		return c
	}
	whole := fetch(t, -1).seen[1].Load()
	for _, part := range []int64{1, 2} {
		cut := fetch(t, whole-int64(len(file))*part/3).seen[1].Load()
		require.Less(t, cut, whole, "it was cut")
	}
}

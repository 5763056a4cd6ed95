package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// keyLine returns the line of a key of a site in lists.
func (s *site) keyLine(who string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, who+".keys"))
	require.NoError(s.t, err)
	return string(text)
}

// TestKeyFile changes a list in all ways that a person may.
func TestKeyFile(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n")
	path := filepath.Join(s.dir, "list")
	said := &warnings{}
	_, err := keyring.OpenKeyFile(path, said.add)
	require.ErrorIs(t, err, os.ErrNotExist)
	list, err := keyring.OpenOptionalKeyFile(path, said.add)
	require.NoError(t, err)
	require.Empty(t, list.Ring())
	one, two := s.keyLine("worker"), s.keyLine("stranger")
	at := time.Now()
	for _, c := range []struct {
		text string // "-" removes the file
		keys int
		said string
	}{
		{one, 1, path + " has changed: added worker"},
		{one, 1, ""},
		{one + two, 2, path + " has changed: added stranger"},
		{one + "ssh-ed25519 cut", 2, path + " has changed and is not valid; the last version stays in use: " + path + ":3: this is not a public key: write lines in the format of authorized_keys"},
		{two, 1, path + " has changed: removed worker"},
		{"", 0, path + " has changed: removed stranger; it has no key"},
		{two, 1, path + " has changed: added stranger"},
		{"-", 0, path + " has changed: removed stranger; it has no key"},
		{"-", 0, ""},
		{one, 1, path + " has changed: added worker"},
	} {
		said.list = nil
		at = at.Add(time.Second)
		if c.text == "-" {
			_ = os.Remove(path)
		} else {
			s.write("list", c.text)
			require.NoError(t, os.Chtimes(path, at, at))
		}
		for range 3 {
			require.Len(t, list.Ring(), c.keys, c.text)
		}
		require.Equal(t, c.said, said.all(), c.text)
	}
}

// TestKeysAreReadAgain adds a missing key to each list while a run waits for it.
func TestKeysAreReadAgain(t *testing.T) {
	t.Parallel()
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1")
		q := open(s.dir)
		s.write("its-coordinators", s.keyLine("stranger"))
		s.write("its-workers", s.keyLine("stranger"))
		c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
		list := func(name string, say func(string)) keyring.Keys {
			f, err := keyring.OpenKeyFile(filepath.Join(s.dir, name), say)
			require.NoError(t, err)
			return f
		}
		c.Workers = list("its-workers", warned.add)
		said := s.work(q, "worker", "", func(w *Worker) { w.Shards, w.Coordinators = 1, list("its-coordinators", w.Say) })
		summary, over := s.begin(c)
		hears := func(w *warnings, what string) {
			t.Helper()
			require.Eventually(t, func() bool { return strings.Contains(w.all(), what) }, wait, time.Millisecond, what)
		}
		hears(said, "which is not on the list\n  hint: if this key may begin runs, add it to "+filepath.Join(s.dir, "its-coordinators")+", which is read again at once: "+c.Key.Public())
		require.NotContains(t, warned.all(), "refused")
		s.write("its-coordinators", s.keyLine("stranger")+s.keyLine("coordinator"))
		hears(warned, "a worker was refused: it is signed by the key ")
		hears(said, "its-coordinators has changed: added coordinator")
		s.write("its-workers", s.keyLine("stranger")+s.keyLine("worker"))
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Fatal("the run does not end")
		}
		require.Equal(t, 1, summary().Totals.Hosts.OK)
		require.Contains(t, warned.all(), "its-workers has changed: added worker")
		require.Equal(t, 1, strings.Count(said.all(), "a run was not accepted"), said.all())
	})
}

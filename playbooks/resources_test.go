package playbooks

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// brings makes a world whose play includes a program and a large file next to it.
func brings(t *testing.T, hosts map[string]*sshtest.Server) *world {
	t.Helper()
	w := newWorld(t, hosts, `
ccm:
  resources:
    - dsc: [it: {type: Own/Thing, properties: {text: hello}}]
`)
	w.withFull(t)
	large := make([]byte, 1<<20)
	rand.Read(large)
	for name, text := range map[string]string{
		"thing.dsc.resource.json": `{"$schema":"https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json","type":"Own/Thing","version":"1.0.0",
			"get":{"executable":"./thing.sh"},"schema":{"embedded":{"type":"object"}}}`,
		"thing.sh":  "#!/bin/sh\ntest -s lib/large && echo '{\"text\":\"hello\"}'\n",
		"lib/large": string(large),
	} {
		path := filepath.Join(w.dir, "resources", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return w
}

// TestResourcesAreSentOnce counts the bytes that a host receives.
func TestResourcesAreSentOnce(t *testing.T) {
	hosts := servers(t, "web1")
	w := brings(t, hosts)
	want := []string{"play site 1/1: web1", "web1 dsc#it stable", "web1 done: ok"}
	received := func() int64 {
		before := hosts["web1"].Stats().Received
		require.Equal(t, want, w.run(t), w.text.String())
		w.Dialer.Close()
		return hosts["web1"].Stats().Received - before
	}
	require.Greater(t, received(), int64(1<<20))
	require.Less(t, received(), int64(16<<10))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "resources/new"), nil, 0o600))
	require.Greater(t, received(), int64(1<<20), "another folder is sent whole")
	require.Less(t, received(), int64(16<<10))
	require.NoError(t, os.Remove(filepath.Join(w.dir, "resources/new")))
	require.Less(t, received(), int64(16<<10), "the one before is still there")
}

// TestResourcesThatChange during a run fail the resource, and the next run goes well.
func TestResourcesThatChange(t *testing.T) {
	hosts := servers(t, "web1")
	w := brings(t, hosts)
	large := filepath.Join(w.dir, "resources/lib/large")
	changes := make(chan error, 1)
	w.recorded.watch = func(e events.Event) {
		if _, ok := e.(events.RunStart); ok { // by then it has not been looked at, but the play is read
			changes <- os.Truncate(large, 1<<19)
		}
	}
	require.Equal(t, []string{"play site 1/1: web1", "web1 dsc#it failed", "web1 done: failed"}, w.run(t))
	require.NoError(t, <-changes)
	require.Contains(t, w.text.String(), "resources/lib/large: the file changed during the run")
	w.recorded.watch = nil
	require.Equal(t, []string{"play site 1/1: web1", "web1 dsc#it stable"}, w.run(t)[:2], w.text.String())
}

// TestParsing checks what a host program receives for a YAML document.
func TestParsing(t *testing.T) {
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.Env("FAKE=YAML"))}
	w := newWorld(t, hosts, twoResources).fake(t)
	w.Options.Catalog = misbehaving(t, "nothing").Options.Catalog
	w.run(t)
	var messages []string
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok {
			for _, n := range r.Messages {
				messages = append(messages, n.Text)
			}
		}
	}
	require.Equal(t, []string{
		`{"id":1,"json":{"a":[1.50,"x"]}}`,
		`{"id":2,"error":"1:4: tag !x is not supported\n  hint: remove it"}`,
		`{"id":3,"json":{"a":"b"}}`,
	}, messages, w.text.String())
}

// TestStatesOfAHost checks that reported states are limited.
func TestStatesOfAHost(t *testing.T) {
	w := misbehaving(t, "deep state")
	w.run(t)
	var got []string
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok && r.Host == "web2" {
			state, err := json.Marshal(r.State)
			require.NoError(t, err)
			got = append(got, fmt.Sprint(string(state), len(r.Restart), r.Messages))
		}
	}
	require.Equal(t, []string{
		"null0 [{warning its state is omitted: it is nested more than 100 levels deep} {warning further restarts that it reports are omitted: there are too many, or they are too large}]",
		"{\"before\":{\"a\":\"\ufffd\u009b2J\"}}64 [{warning further restarts that it reports are omitted: there are too many, or they are too large}]",
	}, got)
	require.NotContains(t, w.text.String(), "\u009b")
}

package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestPlaysThatCannotBeRead has a play read a file of the operator that no worker gets: the run is refused, and nothing is changed.
func TestPlaysThatCannotBeRead(t *testing.T) {
	s := newSite(t, "vars_files: [own.yaml]\nccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2")
	s.write("own.yaml", "a: 1\n")
	q := queuetest.New(0)
	s.work(q, "worker", "")
	got := &recorded{}
	c, warned := s.coordinator(q, s.runner(s.inventory(nil), got))
	c.Size = 1
	c.Recipe.Without = append(c.Recipe.Without, s.paths("own.yaml")...)
	require.NoError(t, c.Begin(t.Context()))
	_, err := c.Runner.Run(t.Context(), nil)
	require.NoError(t, c.Close(t.Context()))
	require.ErrorContains(t, err, "--workers: packing the play's files for workers: "+s.dir+"/own.yaml: the play is read from it, but workers never get it: it is an inventory, key or password file of the operator")
	require.ErrorContains(t, err, "hint: ")
	require.Empty(t, got.lines(s))
	require.Empty(t, warned.all())
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "a"), "")
	sshtest.WriteKey(t, filepath.Join(dir, "locked"), "secret")
	key, err := ReadKey(filepath.Join(dir, "a"))
	require.NoError(t, err)
	_, err = ReadKey(filepath.Join(dir, "locked"))
	require.ErrorContains(t, err, "the key has a passphrase")
	for _, test := range []struct{ text, err string }{
		{"# nobody\n", "LIST: the file has no key"},
		{"\nssh-ed25519\n", "LIST:2: this is not a public key: write lines in the format of authorized_keys"},
		{`command="x" ` + key.Public(), "LIST:1: options before a key have no meaning here: remove them"},
		{sshtest.PublicLine(sshtest.NewKey(t, "ecdsa")), "LIST:1: the key is of type ecdsa-sha2-nistp256, and only ssh-ed25519 is taken here"},
		{key.Public() + " of a", ""},
	} {
		list := filepath.Join(dir, "list")
		require.NoError(t, os.WriteFile(list, []byte(test.text), 0o600))
		ring, err := readKeyring(list, false)
		if test.err != "" {
			require.EqualError(t, err, strings.ReplaceAll(test.err, "LIST", list), "%s", test.text)
			continue
		}
		require.NoError(t, err)
		text, err := sign(key, ticketKind, ticket{Run: "r"})
		require.NoError(t, err)
		var got ticket
		who, err := verify(ring, ticketKind, text, &got)
		require.NoError(t, err)
		require.Equal(t, "of a", who)
		require.Equal(t, "r", got.Run)
		_, err = verify(ring, orderKind, text, &got)
		require.ErrorContains(t, err, "the signature of the order is wrong", "what is signed as one thing is nothing else")
		_, err = verify(Keyring{}, ticketKind, text, &got)
		require.True(t, isStranger(err))
	}
}

func TestFrames(t *testing.T) {
	key, h := newFrameKey(), newHandoutID()
	w, err := newFrameWriter(key, h)
	require.NoError(t, err)
	long := []byte(strings.Repeat("long ", maxPiece))
	first, second := w.frames([]byte("first")), w.frames(long)
	require.Len(t, first, 1)
	require.Greater(t, len(second), 4)
	r, err := newFrameReader(key)
	require.NoError(t, err)
	var got []string
	read := func(frame []byte) {
		of, ok := handoutOf(frame)
		require.True(t, ok)
		require.Equal(t, h, of)
		text, err := r.read(frame)
		require.NoError(t, err)
		if text != nil {
			got = append(got, string(text))
		}
	}
	read(first[0])
	read(first[0]) // what comes twice counts once
	for _, frame := range second {
		read(frame)
	}
	require.Equal(t, []string{"first", string(long)}, got)

	frame := w.frames([]byte("changed"))[0]
	changed := append([]byte(nil), frame...)
	changed[len(changed)-1] ^= 1
	_, err = r.read(changed)
	require.ErrorContains(t, err, "was changed in transit")
	_, err = r.read(w.frames([]byte("too far"))[0])
	require.ErrorContains(t, err, "is incomplete")
	read(frame)
	other, err := newFrameReader(newFrameKey())
	require.NoError(t, err)
	_, err = other.read(first[0])
	require.ErrorContains(t, err, "was changed in transit", "who has another key reads nothing")
}

func TestTold(t *testing.T) {
	result := func(index int, status events.Status, kept bool) events.Result {
		return events.Result{Type: "exec", Name: "x", Index: index, Status: status, Kept: kept}
	}
	hello := events.Message{Kind: events.Pre, Text: "hello"}
	one := &told{}
	require.True(t, one.isNew(hello))
	require.True(t, one.isNew(hello), "what is said twice is told twice")
	require.True(t, one.isNew(result(0, events.Changed, false)))
	one.again()
	require.False(t, one.isNew(hello))
	require.False(t, one.isNew(hello))
	require.True(t, one.isNew(hello))
	require.False(t, one.isNew(result(0, events.Changed, true)), "the host had kept it")
	one.again()
	require.True(t, one.isNew(result(0, events.Changed, false)), "it was changed again")
	one.again()
	require.False(t, one.isNew(result(0, events.Stable, false)))
	require.True(t, one.isNew(result(1, events.Stable, false)))
	other := result(1, events.Stable, true)
	other.Name = "another resource"
	require.True(t, one.isNew(other))

	alike := &told{} // the first resource of a play, and that of what its rollout does behind it
	for range 2 {
		require.True(t, alike.isNew(result(0, events.Stable, false)))
	}
	alike.again()
	require.False(t, alike.isNew(result(0, events.Stable, true)))
	require.False(t, alike.isNew(result(0, events.Stable, true)))
	require.True(t, alike.isNew(result(0, events.Stable, true)))
}

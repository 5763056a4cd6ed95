package system

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newPast(t *testing.T) (*Past, string) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return PastIn(dir), filepath.Join(dir, "history")
}

func TestPast(t *testing.T) {
	p, dir := newPast(t)
	text, err := p.Read("1")
	require.NoError(t, err)
	require.Empty(t, text)
	sum, size, err := p.Put(strings.NewReader("old"))
	require.NoError(t, err)
	require.Equal(t, int64(3), size)
	again, _, err := p.Put(strings.NewReader("old"))
	require.NoError(t, err)
	require.Equal(t, sum, again)
	_, err = p.Open(sum)
	require.ErrorIs(t, err, fs.ErrNotExist, "it is not on the disk yet")
	require.NoError(t, p.Append("1", []byte("a\n"), true))
	require.NoError(t, p.Append("1", []byte("b\n"), false))
	text, err = p.Read("1")
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", string(text))
	f, err := p.Open(sum)
	require.NoError(t, err)
	defer f.Close()
	text, err = io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	entries, err := os.ReadDir(filepath.Join(dir, "contents"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a content is kept once")
	for _, path := range []string{"", "contents", "1.jsonl", "contents/" + sum} {
		info, err := os.Stat(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
	}
	_, err = p.Open("../1.jsonl")
	require.EqualError(t, err, `"../1.jsonl" is no SHA-256`)
}

// TestPastOfOthers refuses files that others could have written.
func TestPastOfOthers(t *testing.T) {
	p, dir := newPast(t)
	require.NoError(t, p.Append("1", []byte("a\n"), true))
	require.NoError(t, os.Chmod(filepath.Join(dir, "1.jsonl"), 0o666))
	_, err := p.Read("1")
	require.ErrorContains(t, err, "others can write to it")
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err = p.Read("2")
	require.ErrorContains(t, err, "others can write to it")
	require.ErrorContains(t, p.Append("2", []byte("a\n"), true), "others can write to it")
	_, _, err = p.Put(strings.NewReader("x"))
	require.ErrorContains(t, err, "others can write to it")
}

// TestPastIsBounded drops the oldest runs, and the contents that no other run has.
func TestPastIsBounded(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name string
		size int // size of each content, in MiB
		age  time.Duration
		want string // remaining runs
	}{
		{"as much as is kept", 60, time.Hour, "1 2 3 4 5"},
		{"more", 100, time.Hour, "3 4 5"},
		{"older", 1, 40 * 24 * time.Hour, "2 3 4 5"},
		{"the last one is more by itself", 300, time.Hour, "4 5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, dir := newPast(t)
			p.now, p.pruned = func() time.Time { return now }, true
			shared, _, err := p.Put(strings.NewReader("shared"))
			require.NoError(t, err)
			for run := 1; run <= 4; run++ {
				sum, _, err := p.Put(strings.NewReader(fmt.Sprint("content of ", run)))
				require.NoError(t, err)
				require.NoError(t, p.Append("1", nil, true))
				require.NoError(t, os.Truncate(filepath.Join(dir, "contents", sum), int64(test.size)<<20)) // a hole, which takes no room
				name := fmt.Sprint(run)
				require.NoError(t, p.Append(name, []byte(sum+" "+shared+"\n"), true))
				at := now.Add(-test.age * time.Duration(4-run))
				require.NoError(t, os.Chtimes(filepath.Join(dir, name+".jsonl"), at, at))
			}
			p.pruned = false
			require.NoError(t, p.Append("5", []byte("x\n"), true))
			var left []string
			for run := 1; run <= 5; run++ {
				if text, err := p.Read(fmt.Sprint(run)); err == nil && text != nil {
					left = append(left, fmt.Sprint(run))
				}
			}
			require.Equal(t, test.want, strings.Join(left, " "))
			entries, err := os.ReadDir(filepath.Join(dir, "contents"))
			require.NoError(t, err)
			if want := len(left) - 1; want > 0 { // the content of 5 is missing, and the shared one exists
				require.Len(t, entries, want+1)
			}
		})
	}
}

// TestPastOfMany brings many contents to the disk at once.
func TestPastOfMany(t *testing.T) {
	p, dir := newPast(t)
	var sums []string
	for i := range 3 * fewContents {
		sum, _, err := p.Put(strings.NewReader(fmt.Sprint(i / 2)))
		require.NoError(t, err)
		sums = append(sums, sum)
	}
	require.NoError(t, p.Append("1", []byte("a\n"), true))
	for _, sum := range sums {
		f, err := p.Open(sum)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	entries, err := os.ReadDir(filepath.Join(dir, "contents"))
	require.NoError(t, err)
	require.Len(t, entries, len(sums)/2)
}

// TestPastInUse does not drop a run that is just being undone, whatever there is of others.
func TestPastInUse(t *testing.T) {
	p, dir := newPast(t)
	sum, _, err := p.Put(strings.NewReader("old"))
	require.NoError(t, err)
	require.NoError(t, p.Append("1", []byte(sum+"\n"), true))
	large, _, err := p.Put(strings.NewReader("large"))
	require.NoError(t, err)
	require.NoError(t, p.Append("2", nil, true))
	require.NoError(t, os.Truncate(filepath.Join(dir, "contents", large), 300<<20))
	require.NoError(t, p.Append("2", []byte(large+"\n"), true))
	long := time.Now().Add(-100 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "1.jsonl"), long, long))

	undoing := PastIn(filepath.Dir(dir))
	_, err = undoing.Read("1")
	require.NoError(t, err)
	require.NoError(t, undoing.Append("3", []byte("x\n"), true)) // which prunes
	f, err := undoing.Open(sum)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.FileExists(t, filepath.Join(dir, "1.jsonl"))
	require.NoFileExists(t, filepath.Join(dir, "2.jsonl"))
}

// TestPastOfOneRun bounds what one run adds.
func TestPastOfOneRun(t *testing.T) {
	p, dir := newPast(t)
	_, _, err := p.Put(strings.NewReader("one"))
	require.NoError(t, err)
	p.added = maxPastSize - 4
	_, _, err = p.Put(strings.NewReader("two"))
	require.NoError(t, err)
	_, _, err = p.Put(strings.NewReader("three"))
	require.EqualError(t, err, "more than the 256 MiB that are kept of a run")
	_, _, err = p.Put(strings.NewReader("two"))
	require.NoError(t, err, "it is there already")
	entries, err := os.ReadDir(filepath.Join(dir, "contents"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// TestPastOfATornLine continues after a line that is only partly on the disk.
func TestPastOfATornLine(t *testing.T) {
	p, dir := newPast(t)
	for _, test := range []struct{ there, want string }{
		{"a\nb", "a\nc\n"},
		{"b", "c\n"},
		{"a\n", "a\nc\n"},
	} {
		require.NoError(t, p.Append("1", nil, true))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "1.jsonl"), []byte(test.there), 0o600))
		require.NoError(t, p.Append("1", []byte("c\n"), true))
		text, err := p.Read("1")
		require.NoError(t, err)
		require.Equal(t, test.want, string(text))
	}
}

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// remote has contents that must be requested before they are opened.
type remote struct {
	t     *testing.T
	texts map[string]string // by SHA-256
	asked [][]string
	late  int // opened without a request
}

func (r *remote) prefetch(_ context.Context, list []modules.Content) error {
	var digests []string
	for _, c := range list {
		digests = append(digests, c.SHA256())
	}
	r.asked = append(r.asked, digests)
	return nil
}

// Open implements [modules.Contents].
func (r *remote) Open(_ context.Context, c modules.Content) (io.ReadCloser, error) {
	if !strings.Contains(fmt.Sprint(r.asked), c.SHA256()) {
		r.late++
	}
	return io.NopCloser(strings.NewReader(r.texts[c.SHA256()])), nil
}

// counted counts the looks at files.
type counted struct {
	modules.FileReader
	digests *int
}

// Digest implements [modules.FileReader].
func (c counted) Digest(path string) (string, error) {
	*c.digests++
	return c.FileReader.Digest(path)
}

func large(i int) string { return strings.Repeat(fmt.Sprintf("line of %d\n", i), 100) }

// look runs a catalog of a directory and files in it.
func look(t *testing.T, dir string, more ...wire.Entry) (r *remote, digests int, results []wire.Result) {
	t.Helper()
	r = &remote{t: t, texts: map[string]string{}}
	entries := []wire.Entry{file(dir+"/d", `"ensure":"directory","mode":"0755"`)}
	for i := range 5 {
		text := large(i)
		hash := modules.TextContent(text).SHA256()
		r.texts[hash] = text
		entries = append(entries, file(fmt.Sprintf("%s/d/f%d", dir, i), fmt.Sprintf(`"ensure":"present","mode":"0644","content":{"sha256":%q,"size":%d}`, hash, len(text))))
	}
	entries = append(more, entries...)
	e := enginetest.New()
	e.Host.Contents = r
	e.Host.Files.FileReader = counted{e.Host.Files.FileReader, &digests}
	e.Prefetch = r.prefetch
	results, _ = enginetest.Run(t, e, "", wire.Catalog{Entries: entries})
	for _, result := range results {
		require.Empty(t, result.Error)
	}
	return r, digests, results
}

// A fresh host, which lacks even the directory, requests everything at once.
func TestFreshHostAsksOnce(t *testing.T) {
	dir := t.TempDir()
	r, _, results := look(t, dir)
	require.Equal(t, "changed changed changed changed changed changed", brief(results))
	require.Len(t, r.asked, 1)
	require.Len(t, r.asked[0], 5)
	require.Zero(t, r.late)
}

// A converged host looks at each file once, unless something was run meanwhile.
func TestOneLookIsEnough(t *testing.T) {
	dir := t.TempDir()
	look(t, dir)
	r, digests, results := look(t, dir)
	require.Equal(t, "stable stable stable stable stable stable", brief(results))
	require.Empty(t, r.asked)
	require.Equal(t, 5, digests)

	guard := command("true", fmt.Sprintf(`"unless":"echo changed >>%s/d/f3"`, dir)) // which should only look
	_, _, results = look(t, dir, guard)
	require.Equal(t, "stable stable stable stable stable changed stable", brief(results))
	text, err := os.ReadFile(filepath.Join(dir, "d/f3"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, []byte(large(3))))
}

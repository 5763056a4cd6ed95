package file

import (
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// exchanged opens another file than the checked one, as if a user had put a link in its place in between.
type exchanged struct {
	modules.FileReader
	other string
}

func (e exchanged) Open(string) (io.ReadCloser, error) { return os.Open(e.other) }

// TestReversalKeepsNobodyElsesText exchanges a user's file for a link to a secret while the reversal is recorded:
// otherwise the user would get the secret later.
func TestReversalKeepsNobodyElsesText(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/his", []byte("his own"), 0o644))
	require.NoError(t, os.WriteFile(dir+"/secret", []byte("secret"), 0o600))
	f := &File{Name: dir + "/his", Ensure: present, Content: modules.TextContent("mine"),
		Owner: strconv.Itoa(os.Getuid()), Group: strconv.Itoa(os.Getgid()), Mode: "0644"}
	h := modtest.Host()
	properties, err := f.Reversal(t.Context(), h, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"data": []byte("his own")}, properties["content"])
	h.Files.FileReader = exchanged{h.Files.FileReader, dir + "/secret"}
	_, err = f.Reversal(t.Context(), h, nil)
	require.EqualError(t, err, dir+"/his has just been replaced by another process; run again")
}

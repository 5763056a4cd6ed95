package system

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPastOnAFullDisk adds lines wholly or not at all.
func TestPastOnAFullDisk(t *testing.T) {
	p, dir := newPast(t)
	require.NoError(t, p.Append("1", []byte("a\n"), true))
	var was syscall.Rlimit // a file can be full, too, and needs no privilege for it
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	full := was
	full.Cur = 16 << 20 // the log that go test keeps of this process is smaller
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	err := p.Append("1", []byte(strings.Repeat("b", 16<<20)+"\n"), false)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	require.ErrorIs(t, err, syscall.EFBIG)
	require.NoError(t, p.Append("1", []byte("c\n"), true))
	text, err := os.ReadFile(filepath.Join(dir, "1.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "a\nc\n", string(text))
}

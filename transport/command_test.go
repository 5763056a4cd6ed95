package transport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStderrIsBounded(t *testing.T) {
	s := NewStderr()
	s.Write([]byte("the beginning"))
	for range 100 {
		n, err := s.Write(bytes.Repeat([]byte("x"), 1000))
		require.NoError(t, err)
		require.Equal(t, 1000, n)
	}
	s.Write(append(bytes.Repeat([]byte("y"), 1<<20), "the end"...))
	mark := fmt.Sprintf("x[… %d bytes left out …]y", 100_000+1<<20+len("the beginning"+"the end")-MaxStderr)
	require.Contains(t, s.String(), mark)
	require.Len(t, s.String(), MaxStderr+len(mark)-2)
	require.True(t, strings.HasPrefix(s.String(), "the beginningx"))
	require.True(t, strings.HasSuffix(s.String(), "ythe end"))
}

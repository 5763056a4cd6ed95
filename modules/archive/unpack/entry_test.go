package unpack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEntriesAreCounted uses an archive with the same file many times.
func TestEntriesAreCounted(t *testing.T) {
	l := listing{kinds: map[string]kind{}}
	for range maxEntries {
		require.NoError(t, l.add(&entry{name: "f", kind: file}))
	}
	require.EqualError(t, l.add(&entry{name: "f", kind: file}), "there are more than 500000 files and directories")
}

package fstab

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/edit"
)

// TestComment keeps the comment at the end of a line that changes.
func TestComment(t *testing.T) {
	text := edit.Parse("tmpfs /a tmpfs rw 0 0 # of ours\ntmpfs /b tmpfs rw # short\n")
	for _, path := range []string{"/a", "/b"} {
		_, err := Keep(text, func(fields []string) bool { return fields[Point] == path }, []string{"tmpfs", path, "tmpfs", "ro", "0", "0"})
		require.NoError(t, err)
	}
	require.Equal(t, "tmpfs /a tmpfs ro 0 0 # of ours\ntmpfs /b tmpfs ro 0 0 # short\n", text.String())
}

package reach

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPasswordProgramOfAnotherUser is not run: its owner could have root run anything.
func TestPasswordProgramOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "vault")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho hunter2\n"), 0o700))
	var s SecretSources
	text, err := s.text(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, "hunter2\n", string(text))
	require.NoError(t, os.Chown(path, 65534, 65534))
	_, err = s.text(t.Context(), path)
	require.EqualError(t, err, "it is executable, and belongs to another user, who can change it")
}

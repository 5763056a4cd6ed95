package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestShowSecrets prints secrets to a terminal; that nothing else gets them is in
// testdata/script/secretvault.txtar.
func TestShowSecrets(t *testing.T) {
	a := pushAlone(t, "true", "exec ccm-push -i web1, --facts facts.yaml render --show-secrets site.yaml web1")
	for name, text := range map[string]string{
		"facts.yaml": "{}\n",
		"site.yaml": "data: {password: !secret hunter2-hunter2}\n" +
			"ccm: {resources: [{exec: [{\"true\": {environment: [\"A={{ Data.password }}\"]}}]}]}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
	}
	w := &watched{alone: a}
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
	require.NoError(t, err)
	w.follow()
	screen, status := w.end()
	require.Zero(t, status, screen)
	require.Contains(t, screen, "password: hunter2-hunter2")
	require.Contains(t, screen, "A=hunter2-hunter2")
}

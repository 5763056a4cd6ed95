//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnsibleFilters compares the recorded results of filters with the real Ansible.
func TestAnsibleFilters(t *testing.T) {
	python := pythonOf(t)
	const file = "../templates/jinja/testdata/filters.json"
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	argv := append(strings.Fields(python), "testdata/ansible/filters.py")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(recorded), &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8", "ANSIBLE_JINJA2_NATIVE=true"}
	answers, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	if *update {
		require.NoError(t, os.WriteFile(file, answers, 0o644))
	}
	require.JSONEq(t, string(recorded), string(answers))
}

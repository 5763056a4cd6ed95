//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnsibleTemplates compares the recorded results of templates and values with the installed Ansible. To record them
// again, run go test ./templates/jinja -run TestAsAnsible -update.
func TestAnsibleTemplates(t *testing.T) {
	python := pythonOf(t)
	const folder = "../templates/jinja/testdata/"
	read := func(name string, v any) {
		text, err := os.ReadFile(folder + name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, v))
	}
	type outcome struct {
		In    string          `json:"in,omitempty"`
		Out   json.RawMessage `json:"out,omitempty"`
		Error string          `json:"error,omitempty"`
	}
	var recorded, real struct{ Templates, Values []outcome }
	var variables json.RawMessage
	read("recorded.json", &recorded)
	read("variables.json", &variables)
	files, err := filepath.Abs(folder + "files")
	require.NoError(t, err)
	sources := func(list []outcome) (in []string) {
		for _, one := range list {
			in = append(in, one.In)
		}
		return in
	}
	request, err := json.Marshal(map[string]any{"variables": variables, "folder": files, "templates": sources(recorded.Templates), "values": sources(recorded.Values)})
	require.NoError(t, err)

	argv := append(strings.Fields(python), folder+"asansible.py")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"}
	answers, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	require.NoError(t, json.Unmarshal(answers, &real))
	compare := func(recorded, real []outcome) {
		require.Len(t, real, len(recorded))
		for i, one := range recorded {
			require.Equal(t, one.Error != "", real[i].Error != "", one.In)
			if one.Out != nil {
				require.JSONEq(t, string(one.Out), string(real[i].Out), one.In)
			}
		}
	}
	compare(recorded.Templates, real.Templates)
	compare(recorded.Values, real.Values)
}

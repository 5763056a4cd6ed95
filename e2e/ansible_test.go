//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// An answer is the outcome of a command line of ansible or ansible-inventory.
type answer struct {
	Stdout, Stderr string
	Code           int
}

// installAnsible tries to bring Ansible's command line tools along, once.
var installAnsible = sync.OnceValue(func() error {
	if _, err := exec.LookPath("ansible-inventory"); err == nil || os.Getuid() != 0 {
		return err
	}
	cmd := exec.Command("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "ansible-core")
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return &exec.Error{Name: "apt-get: " + string(bytes.TrimSpace(out)), Err: err}
	}
	_, err := exec.LookPath("ansible-inventory")
	return err
})

// pythonOf is the interpreter that ansible-inventory runs in.
func pythonOf(tb testing.TB) string {
	tb.Helper()
	if err := installAnsible(); err != nil {
		needs.Skip(tb, err.Error())
	}
	path, err := exec.LookPath("ansible-inventory")
	require.NoError(tb, err)
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	first, _, _ := strings.Cut(string(text), "\n")
	python, isScript := strings.CutPrefix(first, "#!")
	require.True(tb, isScript, "%s begins with %q", path, first)
	return strings.TrimSpace(python)
}

// ansibleAnswers runs command lines of ansible and ansible-inventory in a folder,
// all in one call of Python.
func ansibleAnswers(tb testing.TB, dir string, commands [][]string) []answer {
	tb.Helper()
	driver, err := filepath.Abs("testdata/ansible/answers.py")
	require.NoError(tb, err)
	var in, stderr bytes.Buffer
	for _, argv := range commands {
		require.NoError(tb, json.NewEncoder(&in).Encode(argv))
	}
	cmd := exec.CommandContext(tb.Context(), pythonOf(tb), driver)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &in, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "LC_ALL=C.UTF-8", "COLUMNS=1000", // no ansible.cfg, no ANSIBLE_*
		"PYTHONHASHSEED=0"} // else the order of hosts in groups of groups of groups is another one in each run
	out, err := cmd.Output()
	require.NoError(tb, err, "%s", &stderr)
	var answers []answer
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var a answer
		require.NoError(tb, json.Unmarshal(lines.Bytes(), &a))
		answers = append(answers, a)
	}
	require.Len(tb, answers, len(commands))
	return answers
}

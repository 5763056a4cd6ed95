//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestFleetQuickStart runs the quick start of README.md on three fresh hosts: their keys are unknown, deploy logs in with a key
// and needs a password for sudo, and apt has no package lists.
func TestFleetQuickStart(t *testing.T) {
	f := leaseFleet(t)
	t.Cleanup(func() { f.tool("down") })
	f.tool("down")
	f.tool("up", "3")
	const password = "deploy's own"
	key := regexp.MustCompile(`private_key: ([^,]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	private, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(f.path("home/.ssh"), 0o700))
	require.NoError(t, os.WriteFile(f.path("home/.ssh/id_ed25519"), private, 0o600))
	hosts := []string{"h001", "h002", "h003"}
	for _, host := range hosts {
		f.sh(host, `sed -i 's/^deploy .*/deploy ALL=(ALL:ALL) ALL/' /etc/sudoers.d/* && rm -rf /var/lib/apt/lists && echo "deploy:`+password+`" | chpasswd`)
		require.Contains(t, f.sh(host, "runuser -u deploy -- sudo -n true 2>&1 || true"), "password is required")
	}

	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, section, _ := sectionOf(string(text), "Quick start")
	require.NotEmpty(t, section, "README.md has no section Quick start")
	dir, last := t.TempDir(), ""
	printed := map[string]string{} // by command
	run := func(line string) {
		if folder, ok := strings.CutPrefix(line, "cd "); ok {
			dir = filepath.Join(dir, folder)
			require.DirExists(t, dir)
			return
		}
		last, printed[line] = line, f.typed(dir, line, password)
		if strings.Contains(line, "--check") {
			for _, host := range hosts {
				f.sh(host, "! test -e /opt/hello")
			}
		}
	}
	blocks := pageBlock.FindAllStringSubmatch(section, -1)
	require.Greater(t, len(blocks), 2)
	for _, block := range blocks {
		if name := block[1]; block[2] == "yaml" {
			require.NotEmpty(t, name)
			write(t, filepath.Join(dir, name), strings.ReplaceAll(block[3], "192.0.2.1", f.address("0.1")))
			continue
		}
		require.Equal(t, "sh", block[2])
		for line := range strings.Lines(block[3]) {
			run(strings.TrimSpace(line))
		}
	}
	require.Contains(t, printed["ccm-push validate site.yaml"], "valid: 1 play, 2 resources")
	require.Contains(t, printed["ccm-push trust all"], "added 3 keys of 3 hosts")
	require.Contains(t, printed["ccm-push -K --check --diff site.yaml"], "6 would change")
	require.Contains(t, printed["ccm-push -K site.yaml"], "6 changed")
	require.Equal(t, "ccm-push -K site.yaml", last)
	for _, host := range hosts {
		require.Equal(t, "root\n", f.sh(host, "stat -c %U /opt/hello/hello"))
	}
	require.Contains(t, section, "Run the last command again")
	run(last)
	require.Contains(t, printed[last], "6 stable")
}

// typed runs a command in a folder, on a terminal. trust gets the answer yes, -K the password. It returns the output.
func (f *fleet) typed(dir, line, password string) string {
	f.Helper()
	cmd := exec.Command("bash", "-c", fmt.Sprintf("ccm-push() { %s --module-dir %s --progress none \"$@\"; }; %s", programPath(f, "ccm-push"), moduleDir(f), line))
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + f.path("home"), "USER=you", "TERM=dumb", "PATH=/usr/bin:/bin"}
	terminal, err := pty.Start(cmd)
	require.NoError(f, err)
	defer terminal.Close()
	switch {
	case strings.Contains(line, " trust "):
		_, err = terminal.WriteString("yes\n")
	case strings.Contains(line, " -K "):
		_, err = terminal.WriteString(password + "\n")
	}
	require.NoError(f, err)
	printed, err := io.ReadAll(terminal)
	if !errors.Is(err, syscall.EIO) { // the terminal returns it after its programs have ended
		require.NoError(f, err)
	}
	require.NoError(f, cmd.Wait(), "%s\n%s", line, printed)
	return strings.ReplaceAll(string(printed), "\r\n", "\n")
}

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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestFleetTutorial follows docs/start/tutorial.md, on hosts with systemd and apt.
func TestFleetTutorial(t *testing.T) {
	f := startPageHosts(t, "web1", "web2", "web3", "web4")
	require.Greater(t, f.follow("start/tutorial.md"), 20)
	require.FileExists(t, f.path("run.html"))
}

// follow follows a page of docs: it writes the files, and compares the output of each command with the text below it.
// It returns the number of commands.
func (f *fleet) follow(name string) (commands int) {
	f.Helper()
	return f.followSection(name, "")
}

// followSection does the same with one section of a page, which has a title; "" is the whole page.
func (f *fleet) followSection(name, title string) (commands int) {
	f.Helper()
	page := filepath.Join("..", "docs", name)
	whole, err := os.ReadFile(page)
	require.NoError(f, err)
	before, text, after := sectionOf(string(whole), title)
	require.NotEmpty(f, text, "%s has no section %s", name, title)
	parts := pageBlock.FindAllStringSubmatchIndex(text, -1)
	require.NotEmpty(f, parts)
	var out strings.Builder
	end := 0
	for _, at := range parts {
		part := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		out.WriteString(text[end:at[6]])
		end = at[7]
		if name := part(1); part(2) != "console" && name != "" {
			require.NoError(f, os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
			write(f, f.path(name), f.here(part(3)))
			out.WriteString(part(3))
			continue
		}
		require.Equal(f, "console", part(2), "a block without a name that is not a console: %s", part(3))
		for _, command := range regexp.MustCompile(`(?m)^\$ (.*)\n`).FindAllStringSubmatch(part(3), -1) {
			commands++
			printed := f.shell(command[1])
			out.WriteString("$ " + command[1] + "\n" + printed)
		}
	}
	out.WriteString(text[end:])
	if *update {
		require.NoError(f, os.WriteFile(page, []byte(before+out.String()+after), 0o644))
	}
	require.Equal(f, strings.Split(timeless(text), "\n"), strings.Split(timeless(out.String()), "\n"), "go test -tags e2e -run %s ./e2e -update", f.Name())
	return commands
}

// sectionOf cuts a page at a section; all of it is in the section "".
func sectionOf(page, title string) (before, section, after string) {
	if title == "" {
		return "", page, ""
	}
	begin := strings.Index(page, "\n## "+title+"\n")
	if begin < 0 {
		return page, "", ""
	}
	before, section = page[:begin], page[begin:]
	if end := strings.Index(section[1:], "\n## "); end >= 0 {
		section, after = section[:end+1], section[end+1:]
	}
	return before, section, after
}

// pageBlock is a fenced block. A file's has its name before it.
var pageBlock = regexp.MustCompile("(?m)(?:`([^`\\s]+)`:\n\n)?^```([a-z]*)\n((?s:.*?))^```$")

// Texts that differ between runs; the page's own are kept.
var (
	tookTime    = regexp.MustCompile(`\b(\d+m)?[\d.]+(ms|s)\b`)
	runID       = regexp.MustCompile(`\b01[0-9A-Z]{24}\b`)
	fingerprint = regexp.MustCompile(`SHA256:[A-Za-z0-9+/]{43}`)
	clockTime   = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d( \[emerg\] \d+#\d+)?`)
	debVersion  = regexp.MustCompile(`1\.22\.1-\S*?\+deb12u\d+`)
	process     = regexp.MustCompile(`\b(process|kill) \d+\b`)
	slowest     = regexp.MustCompile(`(?m)^slowest: .*\n`)
)

func timeless(text string) string {
	text = slowest.ReplaceAllString(text, "")
	for pattern, name := range map[*regexp.Regexp]string{tookTime: "TIME", runID: "RUN", fingerprint: "KEY", clockTime: "WHEN", process: "PROCESS", debVersion: "VERSION"} {
		text = pattern.ReplaceAllString(text, name)
	}
	return text
}

// startPageHosts has hosts with these names and the packages of the pages, and the folder of a
// newcomer whose key they know.
func startPageHosts(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := startNamedHosts(t, names...)
	for i := range names {
		f.serveDebs(fmt.Sprintf("s%03d", i+1), "nginx")
	}
	return f
}

// startNamedHosts is the same without the packages.
func startNamedHosts(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := leaseFleet(t)
	t.Cleanup(func() { f.tool("down") })
	f.tool("down")
	f.tool("up", strconv.Itoa(len(names)), "--systemd")
	home := f.path("home")
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	key := regexp.MustCompile(`private_key: ([^,]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	text, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", "id_ed25519"), text, 0o600))
	f.dir = f.path("site")
	require.NoError(t, os.Mkdir(f.dir, 0o755))
	for i, name := range names {
		host := fmt.Sprintf("s%03d", i+1)
		f.awaits(host, "systemctl is-active multi-user.target")
		f.sh(host, "hostname "+name+"; echo "+name+" >/etc/hostname; echo 'All rights reserved.' >/etc/motd")
	}
	return f
}

// apt is this machine's, whose lists one process at a time may update.
var apt sync.Mutex

// serveDebs gives a host a repository with a package and its missing dependencies, which this machine downloads from
// its mirror.
func (f *fleet) serveDebs(host, name string) {
	f.Helper()
	apt.Lock()
	defer apt.Unlock()
	dir := f.path("../debs")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		require.NoError(f, os.MkdirAll(filepath.Join(dir, "partial"), 0o755))
		status := f.path("../status")
		write(f, status, f.sh(host, "cat /var/lib/dpkg/status"))
		outputOf(f, exec.Command("apt-get", "-qq", "update"))
		outputOf(f, exec.Command("apt-get", "-qq", "-y", "-o", "Dir::State::status="+status, "-o", "Dir::Cache::archives="+dir,
			"-o", "APT::Sandbox::User=root", "--no-install-recommends", "--download-only", "install", name))
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	require.NoError(f, err)
	require.NotEmpty(f, debs)
	f.sh(host, "mkdir -p /srv/repo")
	for _, deb := range debs {
		f.send(host, deb, "/srv/repo/"+filepath.Base(deb))
	}
	f.sh(host, `cd /srv/repo
for f in *.deb; do
	dpkg-deb -f "$f"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$f" "$(stat -c %s "$f")" "$(sha256sum <"$f" | cut -d' ' -f1)"
done >Packages
echo 'deb [trusted=yes] copy:/srv/repo ./' >/etc/apt/sources.list
apt-get -qq update`)
}

// here replaces the addresses in the page with the addresses of the hosts.
func (f *fleet) here(text string) string {
	return strings.ReplaceAll(text, "192.0.2.1", f.address("1.1"))
}

// shell runs a command of the page in its folder and returns its output on a terminal, where each prompt is answered
// with yes.
func (f *fleet) shell(line string) string {
	f.Helper()
	home := f.path("../home")
	cmd := exec.Command("bash", "-c", fmt.Sprintf("ccm-push() { %s --module-dir %s --progress none \"$@\"; }; %s", programPath(f, "ccm-push"), moduleDir(f), f.here(line)))
	cmd.Dir = f.dir
	cmd.Env = []string{"HOME=" + home, "USER=root", "TERM=dumb", "PATH=/usr/bin:/bin"}
	terminal, err := pty.Start(cmd)
	require.NoError(f, err)
	defer terminal.Close()
	if strings.HasPrefix(line, "ccm-push trust") {
		_, err = terminal.WriteString("yes\n")
		require.NoError(f, err)
	}
	printed, err := io.ReadAll(terminal)
	if !errors.Is(err, syscall.EIO) { // the error of a terminal whose programs have ended
		require.NoError(f, err)
	}
	cmd.Wait()
	text := strings.ReplaceAll(string(printed), "\r\n", "\n")
	text = strings.ReplaceAll(text, home, "/home/you")
	return strings.ReplaceAll(text, f.address("1.1"), "192.0.2.1")
}

//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// The release under test is of a commit that has no tag.
const (
	releaseVersion = "abcdef0123"
	releaseTime    = "1795462000"
	packageVersion = "0.0.0~git20261123192640.abcdef0123"
)

// startRelease starts to build the release, once, which takes a minute: tests that need it call it before other tests
// have their turn. The returned function waits until the release is complete.
var startRelease = sync.OnceValue(func() func() (string, error) {
	made := make(chan struct{})
	var tree string
	var err error
	go func() {
		defer close(made)
		tree, err = makeRelease()
	}()
	return func() (string, error) {
		<-made
		return tree, err
	}
})

// makeRelease makes a copy of this tree, with a release for this system in its bin/dist.
func makeRelease() (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	tree := filepath.Join(dir, "release")
	script := `mkdir "$0" && cd .. && tar -cf - --exclude ./.git --exclude ./bin --exclude './modules/builds/bin/*.gz' \
		--exclude ./modules/builds/bin/index.json . | tar -xf - -C "$0" && cd "$0" && make -s dist "$@"`
	system := "linux/" + runtime.GOARCH
	out, err := exec.Command("nice", "sh", "-c", script, tree, "VERSION="+releaseVersion, "SOURCE_DATE_EPOCH="+releaseTime,
		"TARGETS="+system, "PLATFORMS="+system).CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return tree, err
}

// needRelease is for tests that need the release, and no host.
func needRelease(t *testing.T) {
	startRelease()
	t.Parallel()
}

// released is the path of the one file of the release that matches.
func released(t *testing.T, pattern string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		needs.Skip(t, "a release is made on Linux")
	}
	tree, err := startRelease()()
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(tree, "bin/dist", pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// TestFleetDistDeb installs, uses and removes the package for Debian, and unpacks the archive.
func TestFleetDistDeb(t *testing.T) {
	startRelease()
	f := startFleet(t)
	deb, archive := released(t, "ccm-push_*.deb"), released(t, "ccm-push_*.tar.gz")
	before := f.installed("h001")
	f.send("h001", deb, "/tmp/e2e-ccm-push.deb")
	f.sh("h001", "apt-get -qq install /tmp/e2e-ccm-push.deb")
	t.Cleanup(func() { f.command("exec", "h001", "dpkg", "--purge", "ccm-push").Run() })
	require.Equal(t, packageVersion+"-1", f.sh("h001", "dpkg-query -W -f '${Version}' ccm-push"))
	require.Empty(t, f.sh("h001", "dpkg --verify ccm-push"))
	f.requireAtHand("h001", "/usr")
	require.True(t, f.holds("h001", "grep -q '^== golang.org/x/crypto v' /usr/share/doc/ccm-push/LICENCES"))
	require.True(t, f.holds("h001", "test -s /usr/share/zsh/vendor-completions/_ccm-push"))
	f.requireDrives("h001", "/usr", "h002")
	f.sh("h001", "apt-get -qq remove ccm-push")
	require.Equal(t, before, f.installed("h001"), "what the package has left")

	f.send("h003", archive, "/tmp/e2e-ccm-push.tar.gz")
	f.sh("h003", "tar -xzf /tmp/e2e-ccm-push.tar.gz --strip-components 1 -C /usr/local")
	t.Cleanup(func() {
		f.sh("h003", "tar -tzf /tmp/e2e-ccm-push.tar.gz | grep -v '/$' | sed 's|^[^/]*|/usr/local|' | xargs rm; rm -r /usr/local/share/doc/ccm-push")
	})
	f.requireAtHand("h003", "/usr/local")
	f.requireDrives("h003", "/usr/local", "h002")
}

func TestFleetDistRPM(t *testing.T) {
	startRelease()
	f := startOther(t, "rpm", "r001")
	rpm := released(t, "ccm-push-0*.rpm")
	before := f.installed("r001")
	f.send("r001", rpm, "/tmp/e2e-ccm-push.rpm")
	f.sh("r001", "rpm -i /tmp/e2e-ccm-push.rpm")
	t.Cleanup(func() { f.command("exec", "r001", "rpm", "-e", "ccm-push").Run() })
	require.Equal(t, packageVersion+"-1", f.sh("r001", "rpm -q --qf '%{VERSION}-%{RELEASE}' ccm-push"))
	require.Empty(t, f.sh("r001", "rpm -V ccm-push"))
	require.True(t, f.holds("r001", "test -s /usr/share/zsh/site-functions/_ccm-push -a -s /usr/share/man/man1/ccm-push.1"))
	f.requireDrives("r001", "/usr", "r001")
	f.sh("r001", "rpm -e ccm-push")
	require.Equal(t, before, f.installed("r001"), "what the package has left")
}

// TestFleetDistBroker installs the broker's package on a host, where it serves as a systemd unit under a user of its
// own, and accepts clients that root has added.
func TestFleetDistBroker(t *testing.T) {
	startRelease()
	f := startOther(t, "systemd", "s001")
	deb, program := released(t, "ccm-push-broker_*.deb"), released(t, "ccm-push_*.deb")
	f.send("s001", deb, "/tmp/e2e-broker.deb")
	f.send("s001", program, "/tmp/e2e-ccm-push.deb")
	before := f.installed("s001")
	f.sh("s001", "apt-get -qq install /tmp/e2e-broker.deb /tmp/e2e-ccm-push.deb")
	t.Cleanup(func() {
		f.command("exec", "s001", "sh", "-c", "systemctl disable --now ccm-push-broker; dpkg --purge ccm-push ccm-push-broker; rm -rf /var/lib/private/ccm-push-broker /var/lib/ccm-push-broker /root/ops.nk").Run()
	})
	require.Equal(t, "ccm-push-broker "+releaseVersion+"\n", f.sh("s001", "ccm-push-broker --version"))
	f.sh("s001", `echo 'OPTIONS="--name nats.example.com --listen :4333"' >/etc/default/ccm-push-broker; systemctl daemon-reload; systemctl enable --now ccm-push-broker`)
	require.Equal(t, "active\n", f.sh("s001", "systemctl is-active ccm-push-broker"))
	user := strings.TrimSpace(f.sh("s001", "ps -o uid= -p $(systemctl show -P MainPID ccm-push-broker)"))
	require.NotEqual(t, "0", user)
	require.Equal(t, user+" 700\n", f.sh("s001", "stat -L -c '%u %a' /var/lib/ccm-push-broker"))
	f.sh("s001", "cd /root && ccm-push-broker user add ops --dir /var/lib/ccm-push-broker")
	ask := "cd /root && export NATS_URL=tls://localhost:4333 NATS_CA=/var/lib/ccm-push-broker/ca.pem NATS_NKEY=ops.nk; ccm-push registration "
	require.Eventually(t, func() bool { return f.holds("s001", ask+"init --max-age 1h") }, time.Minute, 200*time.Millisecond, "a user that was added while it runs")
	f.sh("s001", "systemctl restart ccm-push-broker")
	require.Equal(t, "nothing is registered\n", f.sh("s001", ask+"query"))
	require.Contains(t, f.sh("s001", "systemd-analyze security --no-pager ccm-push-broker | tail -n 1"), "OK")
	f.sh("s001", "systemctl disable --now ccm-push-broker; rm /etc/default/ccm-push-broker; apt-get -qq remove ccm-push ccm-push-broker")
	require.Equal(t, before, f.installed("s001"), "what the packages have left")
}

// installed returns the files of a host that packages bring.
func (f *fleet) installed(host string) string {
	f.Helper()
	return f.sh(host, "find /usr /etc /opt -name __pycache__ -prune -o ! -type d -print | sort")
}

// requireAtHand wants the program, its man pages, and completions that complete.
func (f *fleet) requireAtHand(host, prefix string) {
	f.Helper()
	path, share := "PATH="+prefix+"/bin:$PATH; ", prefix+"/share"
	require.Equal(f, "ccm-push "+releaseVersion+"\n", f.sh(host, path+"ccm-push version | head -n 1"))
	require.True(f, f.holds(host, "grep -q '^.TH .CCM.*2026-11-23.* "+releaseVersion+"' "+share+"/man/man1/ccm-push.1"))
	require.Contains(f, f.sh(host, path+"XDG_DATA_DIRS="+share+` fish -c 'complete -C "ccm-push validat"'`), "validate\t")
	require.Contains(f, f.sh(host, "bash -c '. "+share+"/bash-completion/completions/ccm-push; complete -p ccm-push'"), " ccm-push\n")
}

// requireDrives has a host be the controller of another one, or of itself, over SSH.
func (f *fleet) requireDrives(host, prefix, other string) {
	f.Helper()
	inventory := f.tool("inventory")
	for _, key := range []string{"private_key", "known_hosts"} {
		file := regexp.MustCompile(key + `: ([^,}]*)`).FindStringSubmatch(inventory)[1]
		f.send(host, file, "/tmp/e2e-"+key)
		inventory = strings.ReplaceAll(inventory, file, "/tmp/e2e-"+key)
	}
	write(f, f.path("hosts.yaml"), inventory)
	write(f, f.path("site.yaml"), "ccm: {resources: [{file: [{/tmp/e2e-driven: {content: \"{{ Facts.host.info.hostname }}\\n\", owner: root, group: root, mode: \"0644\"}}]}]}\n")
	f.send(host, f.path("hosts.yaml"), "/tmp/e2e-hosts.yaml")
	f.send(host, f.path("site.yaml"), "/tmp/e2e-site.yaml")
	f.sh(host, "chmod 600 /tmp/e2e-private_key; chmod 644 /tmp/e2e-hosts.yaml")
	f.sh(other, "rm -f /tmp/e2e-driven")
	play := "cd /tmp && HOME=/root " + prefix + "/bin/ccm-push -i e2e-hosts.yaml -l " + other + " --detailed-exitcode e2e-site.yaml; echo status $?"
	require.Contains(f, f.sh(host, play), "status 8\n")
	require.Equal(f, other+"\n", f.sh(other, "cat /tmp/e2e-driven"))
	require.Contains(f, f.sh(host, play), "status 0\n")
}

// TestDistAPK looks into the package for Alpine, of which there is no host here: what apk
// verifies of it holds.
func TestDistAPK(t *testing.T) {
	needRelease(t)
	text, err := os.ReadFile(released(t, "ccm-push_*.apk"))
	require.NoError(t, err)
	rest := bytes.NewReader(text)
	control, err := gzip.NewReader(rest)
	require.NoError(t, err)
	control.Multistream(false)
	controlTar := tar.NewReader(control)
	header, err := controlTar.Next()
	require.NoError(t, err)
	require.Equal(t, ".PKGINFO", header.Name)
	about, err := io.ReadAll(controlTar)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, control)
	require.NoError(t, err)
	data := text[len(text)-rest.Len():]
	require.Contains(t, string(about), "pkgver = 0.0.0_git20261123192640-r1\n")
	require.Contains(t, string(about), "datahash = "+sum(data)+"\n")

	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	dataTar := tar.NewReader(unpacked)
	var names []string
	for {
		header, err := dataTar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if header.Typeflag != tar.TypeReg {
			continue
		}
		names = append(names, header.Name)
		content, err := io.ReadAll(dataTar)
		require.NoError(t, err)
		hash := sha1.Sum(content)
		require.Equal(t, hex.EncodeToString(hash[:]), header.PAXRecords["APK-TOOLS.checksum.SHA1"], header.Name)
	}
	for _, name := range []string{
		"usr/bin/ccm-push", "usr/share/man/man1/ccm-push.1", "usr/share/zsh/site-functions/_ccm-push",
		"usr/share/bash-completion/completions/ccm-push", "usr/share/fish/vendor_completions.d/ccm-push.fish",
	} {
		require.Contains(t, names, name)
	}
}

// TestDistVerifies has a release be verified as its users do, and holds its bill of
// materials against the program in the archive.
func TestDistVerifies(t *testing.T) {
	needRelease(t)
	bill := released(t, "*.cdx.json")
	check := exec.Command("sha256sum", "--strict", "-c", "SHA256SUMS")
	check.Dir = filepath.Dir(bill)
	require.Equal(t, 9, strings.Count(outputOf(t, check), ": OK\n"))

	dir := t.TempDir()
	output(t, "tar", "-xzf", released(t, "ccm-push_*.tar.gz"), "--strip-components", "1", "-C", dir)
	program, err := os.ReadFile(filepath.Join(dir, "bin/ccm-push"))
	require.NoError(t, err)
	text, err := os.ReadFile(bill)
	require.NoError(t, err)
	var doc struct {
		Components []struct {
			Name   string
			Hashes []struct{ Content string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	var hashes, names []string
	for _, c := range doc.Components {
		names = append(names, c.Name)
		if c.Name == "ccm-push" {
			hashes = append(hashes, c.Hashes[0].Content)
		}
	}
	require.Equal(t, []string{sum(program)}, hashes)
	require.Contains(t, names, "golang.org/x/crypto")
	require.Contains(t, names, "github.com/shirou/gopsutil/v4", "which only the host programs have")
	require.NotContains(t, names, "github.com/stretchr/testify", "which only tests have")
	require.Contains(t, names, "ccm-push-broker")
	require.Contains(t, names, "github.com/nats-io/nats-server/v2", "which only the broker has")
}

func TestDistInstall(t *testing.T) {
	needRelease(t)
	tree := filepath.Dir(filepath.Dir(filepath.Dir(released(t, "SHA256SUMS"))))
	dir := t.TempDir()
	output(t, "make", "-s", "-C", tree, "install", "DESTDIR="+dir, "PREFIX=/opt")
	require.Equal(t, "ccm-push "+releaseVersion+"\n", strings.SplitAfter(output(t, dir+"/opt/bin/ccm-push", "version"), "\n")[0])
	require.FileExists(t, dir+"/opt/share/man/man1/ccm-push.1")
	require.FileExists(t, dir+"/opt/share/zsh/site-functions/_ccm-push")
	output(t, "make", "-s", "-C", tree, "uninstall", "DESTDIR="+dir, "PREFIX=/opt")
	require.Empty(t, output(t, "find", dir, "!", "-type", "d"))
}

// TestDistVersions converts git's descriptions of commits, in their order, to versions of packages, and checks that
// dpkg and rpm have the same order.
func TestDistVersions(t *testing.T) {
	needs.Program(t, "dpkg", "rpm")
	apk := regexp.MustCompile(`^[0-9]+(\.[0-9]+)*(_(alpha|beta|pre|rc|git|p)[0-9]*)*$`) // apk-package(5)
	older := ""
	for i, version := range [][2]string{
		{"abcdef0123", "0.0.0~git20261123192640.abcdef0123 0.0.0_git20261123192640"},
		{"1234567890", "0.0.0~git20261123192641.1234567890 0.0.0_git20261123192641"},
		{"a123456789-dirty", "0.0.0~git20261123192642.a123456789+dirty 0.0.0_git20261123192642"},
		{"v1.2.0-rc1", "1.2.0~rc1 1.2.0_rc1"},
		{"v1.2.0-rc1-7-gabcdef0123", "1.2.0~rc1+7.gabcdef0123 1.2.0_rc1_p7"},
		{"v1.2.0-rc.2", "1.2.0~rc.2 1.2.0_rc2"},
		{"v1.2.0", "1.2.0 1.2.0"},
		{"v1.2.0-9-gabcdef0123", "1.2.0+9.gabcdef0123 1.2.0_p9"},
		{"v1.2.0-10-g0123456789-dirty", "1.2.0+10.g0123456789.dirty 1.2.0_p10"},
		{"v1.2.1-dirty", "1.2.1+dirty 1.2.1"},
		{"v1.10.0", "1.10.0 1.10.0"},
	} {
		out := strings.TrimSpace(output(t, "make", "-s", "-C", "..", "dist-version", "VERSION="+version[0], fmt.Sprint("SOURCE_DATE_EPOCH=", 1795462000+i)))
		require.Equal(t, version[1], out, version[0])
		newer, forAPK, _ := strings.Cut(out, " ")
		require.Regexp(t, apk, forAPK)
		if older != "" {
			output(t, "dpkg", "--compare-versions", older+"-1", "lt", newer+"-1")
			require.Equal(t, "-1\n", output(t, "rpm", "--eval", `%{lua: print(rpm.vercmp("`+older+`", "`+newer+`"))}`), "%s, %s", older, newer)
		}
		older = newer
	}
}

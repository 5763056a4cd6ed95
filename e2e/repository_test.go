//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signer has a key pair of gpg.
type signer struct {
	t    *testing.T
	home string
}

func newSigner(t *testing.T, name string) signer {
	home, err := os.MkdirTemp("", "gpg") // the path of a socket in it is short
	require.NoError(t, err)
	s := signer{t, home}
	t.Cleanup(func() {
		s.gpg("", "--no-autostart", "--list-keys") // which fails where gpg has left its files half written
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	s.gpg("", "--passphrase", "", "--quick-gen-key", name, "rsa2048", "sign", "never")
	return s
}

func (s signer) gpg(input string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("gpg", append([]string{"--batch", "--quiet", "--homedir", s.home}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, stderr.String())
	return string(out)
}

// public is the key, armoured.
func (s signer) public() string { return s.gpg("", "--armor", "--export") }

// asBlock puts a text into a block of YAML.
func asBlock(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

// put has a text be in a file of a host.
func (f *fleet) put(host, at, text string) {
	f.Helper()
	f.sh(host, "echo "+base64.StdEncoding.EncodeToString([]byte(text))+" | base64 -d >"+at)
}

// TestFleetRepositoryApt adds a signed repository to apt, and checks that one with a wrong signature is refused without
// a change.
func TestFleetRepositoryApt(t *testing.T) {
	f := aptFamily(t)
	own, other := newSigner(t, "own"), newSigner(t, "other")
	f.reset()
	release := f.sh(f.host, `cd /srv/e2e/repo && printf 'Origin: e2e\nDate: %s\nSHA256:\n %s %s Packages\n' "$(date -uR | sed 's/+0000/UTC/')" $(sha256sum <Packages | cut -d' ' -f1) $(stat -c %s Packages)`)
	f.put(f.host, "/srv/e2e/repo/InRelease", own.gpg(release, "--clearsign"))
	const none = "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*e2e* /etc/apt/keyrings/e2e.asc /etc/apt/preferences.d/e2e.pref; "
	definition := func(more string) string {
		return "    - repository:\n        - e2e: {uris: [\"copy:/srv/e2e/repo\"], suites: [./], " + more + "}\n"
	}
	binary := own.gpg("", "--export")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, binary) }))
	defer server.Close()
	downloaded := fmt.Sprintf("signed_by: \"%s/key\", checksum: \"sha256:%x\"", server.URL, sha256.Sum256([]byte(binary)))
	const there = "Types: deb\nURIs: copy:/srv/e2e/repo\nSuites: ./\nSigned-By: /etc/apt/keyrings/e2e.asc\n"

	t.Run("there and back", func(t *testing.T) {
		roundTrip{
			host: f.host, prepare: none,
			site:  definition("priority: 600, " + downloaded),
			state: "cat /etc/apt/sources.list.d/e2e.sources /etc/apt/preferences.d/e2e.pref 2>/dev/null; ls /etc/apt/keyrings",
			want:  there + "# priority of the repository e2e\nPackage: *\nPin: origin \"\"\nPin-Priority: 600\ne2e.asc\n",
			drift: "sed -i s/600/700/ /etc/apt/preferences.d/e2e.pref; sed -i /Suites/d /etc/apt/sources.list.d/e2e.sources",
			maybe: true,
		}.on(t, f.fleet, "-i", "root.yaml")
	})
	t.Run("the key as a text", func(t *testing.T) {
		f.reset()
		f.sh(f.host, none)
		f.converge(t, packageRow{
			resources: "    - repository:\n        - e2e:\n            uris: [\"copy:/srv/e2e/repo\"]\n            suites: [./]\n            signed_by: |\n" + asBlock(own.public(), "              ") +
				"    - package: [e2e-demo: {ensure: \"1.1\"}]\n",
			want: []string{"changed", "changed"}, after: []string{"demo=1.1"},
		})
	})
	t.Run("signed by somebody else", func(t *testing.T) {
		f.reset()
		f.sh(f.host, none)
		f.converge(t, packageRow{
			resources: "    - repository:\n        - e2e:\n            uris: [\"copy:/srv/e2e/repo\"]\n            suites: [./]\n            signed_by: |\n" + asBlock(other.public(), "              "),
			want:      []string{"failed"}, errors: []string{"is not signed"},
		})
		require.Empty(t, f.sh(f.host, "ls /etc/apt/sources.list.d /etc/apt/keyrings | grep e2e; ls -d /run/ccm-push-repository* 2>/dev/null; :"))
	})
	t.Run("not there", func(t *testing.T) {
		f.converge(t, packageRow{
			resources: strings.Replace(definition("gpgcheck: false"), "/repo", "/none", 1), want: []string{"failed"}, errors: []string{"/srv/e2e/none"},
		})
		require.Empty(t, f.sh(f.host, "ls /etc/apt/sources.list.d | grep e2e; :"))
	})
}

// TestFleetRepositoryDnf has dnf know a repository of signed packages.
func TestFleetRepositoryDnf(t *testing.T) {
	f := dnfFamily(t)
	public := f.sh(f.host, `set -e
export GNUPGHOME=/srv/e2e/gpg; mkdir -m 700 $GNUPGHOME
gpg --batch --quiet --passphrase '' --quick-gen-key e2e rsa2048 sign never 2>/dev/null
rpmsign --define '_gpg_name e2e' --define '__gpg /usr/bin/gpg' --addsign /srv/e2e/repo/*.rpm >/dev/null 2>&1
createrepo_c -q /srv/e2e/repo
gpg --batch --armor --export; gpgconf --kill all`)
	const none = "rm -rf /etc/yum.repos.d/* /var/cache/dnf/* /etc/pki/rpm-gpg/e2e.asc; rpm -e --allmatches gpg-pubkey >/dev/null 2>&1 || true; "
	t.Cleanup(func() { f.sh(f.host, none) })
	definition := func(more string) string {
		return "    - repository:\n        - e2e:\n            uris: [\"file:///srv/e2e/repo\"]\n" + more
	}
	const there = "[e2e]\nname=e2e\nbaseurl=file:///srv/e2e/repo\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/e2e.asc\npriority=10\n"
	signed := "            signed_by: |\n" + asBlock(public, "              ")
	t.Run("there and back", func(t *testing.T) {
		f.reset()
		roundTrip{
			host: f.host, prepare: none,
			site:  definition("            priority: 10\n" + signed),
			state: "cat /etc/yum.repos.d/e2e.repo 2>/dev/null; ls /etc/pki/rpm-gpg 2>/dev/null | grep e2e; :",
			want:  there + "e2e.asc\n",
			drift: "sed -i s/gpgcheck=1/gpgcheck=0/ /etc/yum.repos.d/e2e.repo; echo x >>/etc/pki/rpm-gpg/e2e.asc",
			maybe: true,
		}.on(t, f.fleet, "-i", "root.yaml")
	})
	t.Run("a repository that has moved", func(t *testing.T) {
		f.reset("demo=1.0")
		f.sh(f.host, none+"printf '[e2e]\\nname=e2e\\nbaseurl=file:///srv/old\\n\\n[kept]\\nname=kept\\nbaseurl=file:///srv/e2e/repo\\nenabled=0\\n' >/etc/yum.repos.d/e2e.repo")
		f.converge(t, packageRow{
			resources: definition(signed) + "    - package: [e2e-demo: {ensure: latest}]\n",
			want:      []string{"changed", "changed"}, after: []string{"demo=2.0"},
		})
		require.Contains(t, f.sh(f.host, "cat /etc/yum.repos.d/e2e.repo"), "\n\n[kept]\nname=kept\n")
	})
	t.Run("not there", func(t *testing.T) {
		f.reset()
		f.sh(f.host, none)
		f.converge(t, packageRow{
			resources: strings.Replace(definition(signed), "/repo", "/none", 1), want: []string{"failed"}, errors: []string{"/srv/e2e/none"},
		})
		require.Empty(t, f.sh(f.host, "ls /etc/yum.repos.d /etc/pki/rpm-gpg | grep e2e; :"))
	})
}

// TestFleetRepositoryZypper is the same for zypper.
func TestFleetRepositoryZypper(t *testing.T) {
	f := zypperFamily(t)
	f.reset()
	f.sh(f.host, "rm -f /etc/zypp/repos.d/*")
	f.converge(t, packageRow{
		resources: "    - repository: [e2e: {uris: [\"dir:///srv/e2e/repo\"], gpgcheck: false, options: {autorefresh: \"1\"}}]\n    - package: [e2e-demo: ]\n",
		want:      []string{"changed", "changed"}, after: []string{"demo=2.0"},
	})
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostCertificates has sshd show certificates of an authority that is known.
func TestHostCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"ca", "other", "hostkey"} {
		output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+name)
	}
	certify := func(args ...string) {
		output(t, "ssh-keygen", append(append([]string{"-q", "-h", "-I", "web1", "-s"}, args...), dir+"/hostkey.pub")...)
	}
	public := func(name string) string {
		text, err := os.ReadFile(dir + "/" + name + ".pub")
		require.NoError(t, err)
		return string(text)
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(output(t, "ssh-keygen", "-lf", dir+"/hostkey.pub"), "256 "), " ")
	other, _, _ := strings.Cut(strings.TrimPrefix(output(t, "ssh-keygen", "-lf", dir+"/other.pub"), "256 "), " ")
	ca, _, _ := strings.Cut(strings.TrimPrefix(output(t, "ssh-keygen", "-lf", dir+"/ca.pub"), "256 "), " ")
	authority := "@cert-authority [127.0.0.*]:* " + public("ca")
	unknown := "the host key is unknown: ssh-ed25519 " + key + ": its certificate "
	for _, test := range []struct {
		name    string
		certify []string
		known   string
		err     string
		trusted string // output of trust
	}{
		{name: "good", certify: []string{dir + "/ca", "-n", "web1,127.0.0.1"}, known: authority, trusted: "web1  known  FILE:1\n"},
		{name: "for every host", certify: []string{dir + "/ca"}, known: "@cert-authority * " + public("ca"), trusted: "web1  known  FILE:1\n"},
		{name: "for another", certify: []string{dir + "/ca", "-n", "web2"}, known: authority, err: unknown + `is for ["web2"], not for "127.0.0.1"`},
		{name: "wildcards are names as with ssh", certify: []string{dir + "/ca", "-n", "127.0.0.*"}, known: authority, err: unknown + `is for ["127.0.0.*"], not for "127.0.0.1"`},
		{name: "expired", certify: []string{dir + "/ca", "-V", "20200101000000Z:20200102000000Z"}, known: authority, err: unknown + "has expired at 2020-01-02T00:00:00Z"},
		{name: "of another authority", certify: []string{dir + "/other"}, known: authority, err: unknown + "is signed by ssh-ed25519 " + other + ", which is not an authority for it"},
		{name: "of a revoked authority", certify: []string{dir + "/ca"}, known: authority + "@revoked * " + public("ca"), err: "the host key is revoked: ssh-ed25519 " + ca + " in FILE:2",
			trusted: "web1  revoked  the host key is revoked: ssh-ed25519 " + ca + " in FILE:2\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			certify(test.certify...)
			s := startSSHD(t, fmt.Sprintf("HostKey %[1]s/hostkey\nHostCertificate %[1]s/hostkey-cert.pub\n", dir))
			write(t, s.path("known"), test.known)
			s.inventory(t, s.port, "id", "known")
			r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
			// OpenSSH's client has the same verdict.
			ssh := exec.Command("ssh", "-F", "none", "-p", fmt.Sprint(s.port), "-i", s.path("id"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
				"-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none", "-o", "UserKnownHostsFile="+s.path("known"), s.user+"@127.0.0.1", "true")
			said, sshErr := ssh.CombinedOutput()
			if test.err == "" {
				r.requireCode(t, 0)
				require.NoError(t, sshErr, "%s", said)
			} else {
				r.requireCode(t, 4)
				require.Error(t, sshErr, "%s", said)
				require.Contains(t, r.stdout, fmt.Sprintf("host key 127.0.0.1:%d: %s\n", s.port, strings.ReplaceAll(test.err, "FILE", s.path("known"))))
			}
			if test.trusted != "" {
				r = push(t, s.dir, "-i", "hosts.yaml", "trust", "--check", "web1")
				require.Equal(t, strings.ReplaceAll(test.trusted, "FILE", s.path("known")), r.stdout)
			}
		})
	}
}

// TestTrustOfRealSSHD gets the keys that ssh-keyscan gets, and ssh accepts the written file.
func TestTrustOfRealSSHD(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "new")
	r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
	r.requireCode(t, 4)
	hint := regexp.MustCompile(`trust the key: ccm-push (.*)\n`).FindStringSubmatch(r.stdout)
	require.NotNil(t, hint, r.stdout)
	require.Equal(t, "-i hosts.yaml trust web1", hint[1])

	r = push(t, s.dir, append(strings.Fields(hint[1]), "--yes")...)
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "added 3 keys of 1 host to "+s.path("new")+"\n")
	scanned := strings.Split(strings.TrimSpace(output(t, "sh", "-c", fmt.Sprintf("ssh-keyscan -p %d 127.0.0.1 2>/dev/null", s.port))), "\n")
	text, err := os.ReadFile(s.path("new"))
	require.NoError(t, err)
	written := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(scanned)
	slices.Sort(written)
	require.Equal(t, slices.DeleteFunc(scanned, func(l string) bool { return strings.HasPrefix(l, "#") }), written)

	push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
	for _, kind := range []string{"ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512"} {
		output(t, "ssh", "-F", "none", "-p", fmt.Sprint(s.port), "-i", s.path("id"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "HostKeyAlgorithms="+kind,
			"-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none", "-o", "UserKnownHostsFile="+s.path("new"), s.user+"@127.0.0.1", "true")
	}
	r = push(t, s.dir, "-i", "hosts.yaml", "trust", "-y", "web1")
	r.requireCode(t, 0)
	require.Equal(t, "web1  known  "+s.path("new")+":1\n", r.stdout)

	// Fingerprints as the host's own tools show them.
	var collected strings.Builder
	for _, kind := range []string{"ed25519", "rsa"} {
		collected.WriteString("web1 " + output(t, "ssh-keygen", "-lf", s.path("host_"+kind+".pub")))
	}
	write(t, s.path("collected"), collected.String())
	r = push(t, s.dir, "-i", "hosts.yaml", "--known-hosts", "other", "trust", "-y", "--fingerprints", "collected", "web1")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "(not in the file)")
	require.Contains(t, r.stdout, "added 2 keys of 1 host to other\n")
}

// TestTrustThroughJumpHost has a gate that must be trusted before the hosts behind it can be scanned.
func TestTrustThroughJumpHost(t *testing.T) {
	t.Parallel()
	gate, web := startSSHD(t, ""), startSSHD(t, "")
	write(t, gate.path("hosts.yaml"), fmt.Sprintf("all:\n  connect: {known_hosts: %s}\n  hosts:\n    web1: {connect: {address: 127.0.0.1, port: %d, user: %s, private_key: %s, jump: gate}}\n"+
		"    gate: {connect: {address: 127.0.0.1, port: %d, user: %s, private_key: %s}}\n", gate.path("known"), web.port, web.user, web.path("id"), gate.port, gate.user, gate.path("id")))
	r := push(t, gate.dir, "-i", "hosts.yaml", "trust", "-y", "web1")
	r.requireCode(t, 0)
	require.Regexp(t, `(?s)^gate  new  \[127\.0\.0\.1\]:\d+  \(jump host, as for web1\)\n.*added 3 keys of 1 host to .*\nweb1  new  .*added 3 keys of 1 host to `, r.stdout)
	push(t, gate.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
}

package trust

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// testKey is a public key that is always the same.
func testKey(t testing.TB) ssh.PublicKey {
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public())
	require.NoError(t, err)
	return key
}

func TestParseFingerprints(t *testing.T) {
	key := testKey(t)
	text, fp := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), ssh.FingerprintSHA256(key)
	const other = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, test := range []struct {
		name, text string
		want       fingerprints
		err        string
	}{
		{name: "a name and a fingerprint", text: "web1 " + fp, want: fingerprints{"web1": {fp}}},
		{name: "padded", text: "web1 " + fp + "=", want: fingerprints{"web1": {fp}}},
		{name: "of a console", text: "web1 256 " + fp + " root@localhost (ED25519)", want: fingerprints{"web1": {fp}}},
		{name: "of ssh-keygen -lf known_hosts", text: "256 " + fp + " web1,192.0.2.1 (ED25519)", want: fingerprints{"web1": {fp}, "192.0.2.1": {fp}}},
		{name: "of known_hosts", text: "[Web1]:2222,192.0.2.1 " + text + " remark", want: fingerprints{"[web1]:2222": {fp}, "192.0.2.1": {fp}}},
		{name: "IPv6", text: "2001:db8::1,[2001:db8::2]:22,[2001:db8::3]:23 " + fp, want: fingerprints{"2001:db8::1": {fp}, "2001:db8::2": {fp}, "[2001:db8::3]:23": {fp}}},
		{name: "port 22", text: "[web1]:22 " + text, want: fingerprints{"web1": {fp}}},
		{name: "of ssh-keyscan", text: "# web1:22 SSH-2.0-OpenSSH_9.2\nweb1 " + text + "\n\n", want: fingerprints{"web1": {fp}}},
		{name: "several", text: "web1 " + fp + "\nweb1 " + other + "\nweb1 " + fp + "\n", want: fingerprints{"web1": {fp, other}}},

		{name: "empty", text: "# none\n", err: "f:1:1: no fingerprint in this file\n  hint: write lines such as: web1 SHA256:… or: web1 ssh-ed25519 AAAA…"},
		{name: "all that is wrong", text: "web1\n" + fp + "\n256 " + fp + " root@web1 (ED25519)\n256 " + fp + " (ED25519)\nat home " + fp,
			err: "f:1:1: no fingerprint in this line\n  hint: write lines such as: web1 SHA256:… or: web1 ssh-ed25519 AAAA…\n" +
				"f:2:1: the line has no host name\n  hint: begin the line with the host name, such as: web1 SHA256:…\n" +
				"f:3:1: the line has no host name: \"root@web1\" is the comment of the key\n  hint: begin the line with the host name, such as: web1 SHA256:…\n" +
				"f:4:1: the line has no host name\n  hint: begin the line with the host name, such as: web1 SHA256:…\n" +
				"f:5:1: there are several words before the fingerprint\n  hint: begin the line with the host name, such as: web1 SHA256:…"},
		{name: "without a remark", text: "256 " + fp + " no comment (ED25519)", err: "f:1:1: the line has no host name: \"no comment\" is the comment of the key\n  hint: begin the line with the host name, such as: web1 SHA256:…"},
		{name: "a number for a name", text: "0 " + text, err: "f:1:1: \"0\" is not the name of one host\n  hint: write each host's name"},
		{name: "cut off", text: "web1 " + fp[:20], err: `f:1:1: "` + fp[:20] + "\" is not a SHA-256 hash in base64\n  hint: it has 43 characters after SHA256:"},
		{name: "MD5", text: "web1 MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48", err: "f:1:1: an MD5 fingerprint is not secure\n  hint: write the SHA-256 fingerprint; to print it: ssh-keygen -E sha256 -lf FILE"},
		{name: "an authority", text: "@cert-authority * " + text, err: "f:1:1: @cert-authority is not a key of a host\n  hint: authorities and revoked keys belong into known_hosts itself"},
		{name: "hidden", text: "|1|x|y " + text, err: "f:1:1: the name is hidden\n  hint: write it as it is"},
		{name: "a pattern", text: "web* " + fp, err: "f:1:1: \"web*\" is not the name of one host\n  hint: write each host's name"},
		{name: "no key", text: "web1 ssh-ed25519 AAAA", err: "f:1:1: there is neither a fingerprint nor a public key in this line\n  hint: write lines such as: web1 SHA256:… or: web1 ssh-ed25519 AAAA…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseFingerprints("f", test.text)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// TestVouched takes a host by its name in the inventory or in known_hosts only.
func TestVouched(t *testing.T) {
	key := testKey(t)
	for name, want := range map[string]bool{"web1": true, "WEB1": true, "[192.0.2.1]:2222": true, "192.0.2.1": false, "web2": false} {
		f, err := parseFingerprints("f", name+" "+ssh.FingerprintSHA256(key))
		require.NoError(t, err)
		good, others := f.vouched(transport.Target{Host: "web1", Address: "192.0.2.1", Port: 2222}, []ssh.PublicKey{key})
		require.Equal(t, want, len(good) == 1, name)
		require.Equal(t, want, len(others) == 0, name)
	}
}

// FuzzFingerprints writes the fingerprints that were read in the plainest form, and reads them again.
func FuzzFingerprints(f *testing.F) {
	key := testKey(f)
	text, fp := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), ssh.FingerprintSHA256(key)
	for _, line := range []string{"web1 " + fp, "web1 256 " + fp + " a@b (X)", "256 " + fp + " web1,web2 (X)", "[web1]:2222 " + text, "@revoked * " + text, "# x", "|1|a|b " + text, "web1 MD5:00"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		known, err := parseFingerprints("f", text)
		if err != nil {
			return
		}
		var plain strings.Builder
		for _, name := range slices.Sorted(maps.Keys(known)) {
			for _, fp := range known[name] {
				fmt.Fprintf(&plain, "%s %s\n", name, fp)
			}
		}
		again, err := parseFingerprints("f", plain.String())
		require.NoError(t, err, plain.String())
		require.Equal(t, known, again)
	})
}

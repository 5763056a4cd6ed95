package tlskey

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// made is a key for tests, in PEM.
func made(t testing.TB, key pki.Key) string {
	t.Helper()
	signer, err := key.Make()
	require.NoError(t, err)
	text, err := pki.Encode(signer, key.Format)
	require.NoError(t, err)
	return string(text)
}

func properties(more string) string { return `{"name":"$ROOT/k"` + more + `}` }

func TestConverges(t *testing.T) {
	p256 := modtest.Node{Path: "k", Text: made(t, pki.Key{Algorithm: pki.ECDSA, Curve: "p256"}), Mode: 0o600}
	old := modtest.Node{Path: "k", Text: made(t, pki.Key{Algorithm: pki.RSA, Bits: 2048, Format: pki.Traditional}), Mode: 0o644}
	modtest.Converges(t, Type(),
		modtest.Fixture{Name: "new", Properties: properties(``), Action: "made a key", Changes: []modules.Change{modtest.Change("ensure", absent, present)}},
		modtest.Fixture{Name: "as it shall be", Tree: []modtest.Node{p256}, Properties: properties(`,"algorithm":"ecdsa","curve":"p256","format":"pkcs8"`)},
		modtest.Fixture{Name: "of whatever kind", Tree: []modtest.Node{old}, Properties: properties(`,"mode":"0644"`)},
		modtest.Fixture{Name: "with another mode", Tree: []modtest.Node{old}, Properties: properties(``), Action: "updated attributes", Changes: []modules.Change{modtest.Change("mode", "0644", "0600")}},
		modtest.Fixture{Name: "of another algorithm", Tree: []modtest.Node{old}, Properties: properties(`,"algorithm":"ed25519"`), Action: "replaced the key", Changes: []modules.Change{modtest.Change("algorithm", "rsa", "ed25519"), modtest.Change("mode", "0644", "0600")}},
		modtest.Fixture{Name: "of another curve", Tree: []modtest.Node{p256}, Properties: properties(`,"curve":"p384"`), Action: "replaced the key", Changes: []modules.Change{modtest.Change("curve", "p256", "p384")}},
		modtest.Fixture{Name: "too short", Tree: []modtest.Node{old}, Properties: properties(`,"bits":2049`), Action: "replaced the key", Changes: []modules.Change{modtest.Change("bits", "2048", "2049"), modtest.Change("mode", "0644", "0600")}},
		modtest.Fixture{Name: "in another format", Tree: []modtest.Node{p256}, Properties: properties(`,"format":"traditional"`), Action: "wrote the key in another format", Changes: []modules.Change{modtest.Change("format", "pkcs8", "traditional")}},
		modtest.Fixture{Name: "not PEM", Tree: []modtest.Node{{Path: "k", Text: "s3cret"}}, Properties: properties(``), Err: "$ROOT/k holds no private key in PEM"},
		modtest.Fixture{
			Name: "with a passphrase", Properties: properties(``), Err: "$ROOT/k is a private key with a passphrase, and a passphrase cannot be entered here",
			Tree: []modtest.Node{{Path: "k", Text: "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"}},
		},
		modtest.Fixture{Name: "a directory", Tree: []modtest.Node{{Path: "k", Dir: true}}, Properties: properties(``), Err: "$ROOT/k is not a file"},
		modtest.Fixture{Name: "no directory", Properties: `{"name":"$ROOT/none/k"}`, Err: `the directory "$ROOT/none" does not exist (create it with a file resource that has ensure: directory)`},
		modtest.Fixture{
			Name: "through a link", Tree: []modtest.Node{old, {Path: "l", Link: "k"}}, Properties: `{"name":"$ROOT/l","algorithm":"ed25519","mode":"0644"}`,
			Err: "the path $ROOT/l is a symlink, and ccm-push does not write through a symlink (write the path of the target)",
		},
		modtest.Fixture{Name: "absent", Tree: []modtest.Node{p256}, Properties: properties(`,"ensure":"absent"`), Action: "removed the file", Changes: []modules.Change{modtest.Change("ensure", present, absent)}},
		modtest.Fixture{Name: "absent already", Properties: properties(`,"ensure":"absent"`)},
	)
}

func TestPredicts(t *testing.T) {
	step := func(typ, properties string) modtest.Step { return modtest.Step{Type: typ, Properties: properties} }
	modtest.Predicts(t, modules.Registry{Type(), file.Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			step("file", `{"name":"$ROOT/d","ensure":"directory"}`),
			step("tls_key", `{"name":"$ROOT/d/k"}`),
			step("tls_key", `{"name":"$ROOT/d/k","curve":"p256"}`),
			step("tls_key", `{"name":"$ROOT/d/k","mode":"0640"}`),
			step("tls_key", `{"name":"$ROOT/d/k","algorithm":"ed25519","mode":"0640"}`),
			step("tls_key", `{"name":"$ROOT/d/k","ensure":"absent"}`),
			step("tls_key", `{"name":"$ROOT/d/k"}`),
		},
		Want: []string{"changed", "changed", "stable", "changed", "changed", "changed unknown", "changed unknown"},
	})
}

// TestUndone restores the key from before the first run, after two runs.
func TestUndone(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "k", Text: made(t, pki.Key{Algorithm: pki.ECDSA, Curve: "p256"}), Mode: 0o640}})
	with := func(algorithm string) *TLSKey {
		return &TLSKey{Name: root + "/k", Ensure: present, Algorithm: algorithm, Mode: "0600"}
	}
	modtest.Undone(t, root, with("ed25519"), with("ecdsa"))
}

// TestOpenSSL reads our keys with openssl, and reads keys that openssl makes.
func TestOpenSSL(t *testing.T) {
	needs.Program(t, "openssl")
	openssl := func(words ...string) string {
		t.Helper()
		out, err := exec.Command("openssl", words...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	dir := t.TempDir()
	for _, test := range []struct{ name, algorithm, format, says, begins string }{
		{"rsa", "rsa", "traditional", "3072 bit", "-----BEGIN RSA PRIVATE KEY"},
		{"rsa", "rsa", "pkcs8", "3072 bit", "-----BEGIN PRIVATE KEY"}, // the same key
		{"ecdsa", "ecdsa", "pkcs8", "NIST CURVE: P-256", "-----BEGIN PRIVATE KEY"},
		{"ecdsa1", "ecdsa", "traditional", "NIST CURVE: P-256", "-----BEGIN EC PRIVATE KEY"},
		{"ed25519", "ed25519", "traditional", "ED25519", "-----BEGIN PRIVATE KEY"},
	} {
		k := &TLSKey{Name: dir + "/" + test.name, Ensure: present, Algorithm: test.algorithm, Format: test.format, Mode: "0600"}
		plan, err := k.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		require.NoError(t, k.Apply(t.Context(), modtest.Host(), plan))
		require.Contains(t, openssl("pkey", "-in", k.Name, "-noout", "-text"), test.says)
		text, err := os.ReadFile(k.Name)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), test.begins), test.name)
	}
	openssl("ecparam", "-name", "secp384r1", "-genkey", "-out", dir+"/theirs") // with its parameters before it
	for _, file := range []string{"theirs", "ecdsa1"} {
		_, signer, is, err := pki.LookKey(modules.ReadOnly(modtest.Host()), dir+"/"+file)
		require.NoError(t, err)
		require.NotNil(t, signer)
		require.Equal(t, map[string]string{"theirs": "ecdsa p384", "ecdsa1": "ecdsa p256"}[file], is.Kind())
		require.Equal(t, pki.Traditional, is.Format)
	}
	for name, words := range map[string][]string{
		"pkcs8":       {"pkey", "-in", dir + "/rsa", "-aes256", "-passout", "pass:x"},
		"traditional": {"pkey", "-in", dir + "/rsa", "-aes256", "-passout", "pass:x", "-traditional"},
	} {
		_, _, err := pki.ParseKey([]byte(openssl(words...)))
		require.ErrorIs(t, err, pki.ErrEncrypted, name)
	}
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[TLSKey]{
		{Of: TLSKey{Name: "/k"}},
		{Of: TLSKey{Name: "/k", Algorithm: "rsa", Bits: 4096}},
		{Of: TLSKey{Name: "/k", Bits: 1024}, Err: `bits: "bits" must be from 2048 to 16384, not 1024`},
		{Of: TLSKey{Name: "/k", Algorithm: "ecdsa", Bits: 4096}, Err: "bits: 'bits' is of rsa, got 'algorithm: ecdsa'"},
		{Of: TLSKey{Name: "/k", Algorithm: "rsa", Curve: "p256"}, Err: "curve: 'curve' is of ecdsa, got 'algorithm: rsa'"},
		{Of: TLSKey{Name: "/k", Bits: 2048, Curve: "p256"}, Err: "curve: 'bits' is of rsa and 'curve' of ecdsa"},
		{Of: TLSKey{Name: "/k", Mode: "0999"}, Err: `mode: mode "0999" has a digit outside 0-7 (write an octal string such as mode: "0644")`},
	})
	require.Nil(t, (&TLSKey{Mode: "0640"}).Warnings())
	require.Equal(t, "all users of the host may read the key", (&TLSKey{Mode: "0644"}).Warnings()[0].Msg)
}

// TestDescribe checks that the description contains the public facts, and nothing of the key itself.
func TestDescribe(t *testing.T) {
	root := modtest.Root(t)
	text := made(t, pki.Key{Algorithm: pki.ECDSA, Curve: "p256"})
	modtest.Build(t, root, []modtest.Node{{Path: "k", Text: text, Mode: 0o600}})
	_, is, err := pki.ParseKey([]byte(text))
	require.NoError(t, err)
	h := modtest.Host()
	modtest.Describes(t, h, &TLSKey{Name: root + "/k"}, `{"ensure":"present","name":"`+root+`/k","algorithm":"ecdsa","curve":"p256","format":"pkcs8","public_key":"`+is.ID+
		`","owner":"`+h.Accounts.UserName(t.Context(), os.Getuid())+`","group":"`+h.Accounts.GroupName(t.Context(), os.Getgid())+`","mode":"0600"}`)
}

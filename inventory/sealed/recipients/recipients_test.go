package recipients

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func line(t *testing.T, public any) string {
	t.Helper()
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func TestParseKey(t *testing.T) {
	native, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for _, good := range []string{native.Recipient().String(), line(t, ed), line(t, rsaKey.Public())} {
		key, err := ParseKey(good + " ")
		require.NoError(t, err)
		require.Equal(t, good, key.Text)
		commented, err := ParseKey(good + " anna@laptop")
		if strings.HasPrefix(good, "ssh-") {
			require.NoError(t, err)
			require.Equal(t, key.Text, commented.Text)
		}
	}
	sk := "sk-ssh-ed25519@openssh.com " + base64.StdEncoding.EncodeToString(ssh.Marshal(struct {
		Name        string
		Key         []byte
		Application string
	}{"sk-ssh-ed25519@openssh.com", ed, "ssh:"}))
	for bad, want := range map[string]string{
		line(t, curve.Public()):      "a key of type ecdsa-sha2-nistp256 cannot be encrypted to: age knows ssh-ed25519 and ssh-rsa",
		sk:                           "a key of type sk-ssh-ed25519@openssh.com is stored in hardware that can sign, but cannot decrypt",
		"ssh-ed25519 AAAA":           "this is not a valid key of type ssh-ed25519",
		"no key":                     "this is not a public key",
		`command="x" ` + line(t, ed): "options of authorized_keys have no meaning here",
		native.String():              "this is a private key; it must not be in this file",
		"age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq": "a key of a plugin of age is not supported",
		"age1pq1abc": "a post-quantum key of age cannot be combined with other keys",
		"age1abc":    "this is not a recipient of age",
	} {
		_, err := ParseKey(bad)
		require.EqualError(t, err, want, bad)
	}
}

const anna = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

func TestFile(t *testing.T) {
	f, err := Parse(FileName, []byte(`
people:
  anna: `+anna+`
  bert: [`+anna+`]
groups:
  ops: [bert, anna]
rules:
  - {path: group_vars/prod/**, to: ops}
  - {path: ["*.yaml", "host_vars/"], to: [bert]}
`))
	require.NoError(t, err)
	for path, want := range map[string]string{
		"group_vars/prod/a.yaml": "anna bert", "group_vars/prod/a/b": "anna bert", "group_vars/a": "", "a.yaml": "bert", "x/a.yaml": "", "host_vars/x/y.yaml": "bert",
	} {
		readers, err := f.Readers(path)
		var names []string
		for _, r := range readers {
			names = append(names, r.Name)
		}
		require.Equal(t, want, strings.Join(names, " "), path)
		if want == "" {
			require.ErrorContains(t, err, ".ccm-secrets.yaml: no rule matches "+path)
		}
	}
	require.Len(t, f.Everybody(), 2)
	require.Equal(t, "anna", f.Everybody()[0].Name)
}

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ".ccm-secrets.yaml:1:1: no people and no groups are listed\n  hint: write people: {anna: ssh-ed25519 AAAA…}\n.ccm-secrets.yaml:1:1: no rules, so no person can read a file\n  hint: write rules: [{path: \"**\", to: [anna]}]"},
		{"list", "- a\n", ".ccm-secrets.yaml:1:1: this is a list, not a map\n  hint: write people: and rules:"},
		{"unknown key", "peeple: {}\npeople: {a: " + anna + "}\nrules: [{path: x, to: a}]\n", ".ccm-secrets.yaml:1:1: unknown key \"peeple\"\n  hint: did you mean \"people\"?"},
		{"bad key", "people: {a: [" + anna + ", ecdsa-sha2-nistp256 AAAA]}\nrules: [{path: x, to: a}]\n", ".ccm-secrets.yaml:1:78: a: this is not a valid key of type ecdsa-sha2-nistp256\n  hint: copy the whole line from the .pub file"},
		{"no key", "people: {a: }\nrules: [{path: x, to: a}]\n", ".ccm-secrets.yaml:1:10: \"a\" has no key\n  hint: write a: ssh-ed25519 AAAA…"},
		{"nobody", "people: {anna: " + anna + "}\nrules: [{path: x, to: [ana]}]\n", ".ccm-secrets.yaml:2:24: no person and no group has the name \"ana\"\n  hint: did you mean \"anna\"?\n.ccm-secrets.yaml:2:23: the rule lists no recipients\n  hint: write {path: \"group_vars/**\", to: [anna]}"},
		{"above", "people: {a: " + anna + "}\nrules: [{path: ../x, to: a}]\n", ".ccm-secrets.yaml:2:16: the path \"../x\" is not relative to the folder of this file\n  hint: write it without / ./ and ../"},
		{"half a rule", "people: {a: " + anna + "}\nrules: [{path: x}, y]\n", ".ccm-secrets.yaml:2:9: a rule has the keys \"path\" and \"to\"\n  hint: write {path: \"group_vars/**\", to: [anna]}\n.ccm-secrets.yaml:2:20: a rule is a map, and this is the text \"y\"\n  hint: write {path: \"group_vars/**\", to: [anna]}"},
		{"group of that name", "people: {a: " + anna + "}\ngroups: {a: [a]}\nrules: [{path: x, to: a}]\n", ".ccm-secrets.yaml:2:10: \"a\" is a person\n  hint: rename the group"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(FileName, []byte(c.text))
			require.Error(t, err)
			if c.name != "nobody" {
				require.EqualError(t, err, c.want)
			} else {
				for _, line := range strings.Split(c.want, "\n") {
					require.ErrorContains(t, err, line)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("people: {a: "+anna+"}\ngroups: {g: [a]}\nrules: [{path: 'x/**', to: [g]}]\n", "x/y")
	f.Add("people: {a: [ssh-rsa AAAA]}\nrules: [{path: [a, b?], to: a}]\n", "b")
	f.Fuzz(func(t *testing.T, text, path string) {
		file, err := Parse(FileName, []byte(text))
		if err != nil {
			return
		}
		readers, err := file.Readers(path)
		require.Equal(t, err == nil, len(readers) > 0)
		for _, r := range readers {
			again, err := ParseKey(r.Key.Text)
			require.NoError(t, err)
			require.Equal(t, r.Key.Text, again.Text)
		}
	})
}

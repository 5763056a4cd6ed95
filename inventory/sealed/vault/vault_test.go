package vault

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// vectors returns values encrypted by ansible-core.
func vectors(t testing.TB) []*yamlpos.Node {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.yaml")
	require.NoError(t, err)
	documents, err := yamlpos.Parse("vectors.yaml", data, yamlpos.KeepSealed(nil))
	require.NoError(t, err)
	return documents[0].Items
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Get("name").Text, func(t *testing.T) {
			label := v.Get("label").Text
			right := Password{labelOr(label), []byte(v.Get("password").Text)}
			s := Scheme{[]Password{{"default", []byte("wrong")}, right}}
			text, err := s.Open(v.Get("value"))
			require.NoError(t, err)
			require.Equal(t, v.Get("want").Text, text)

			s = Scheme{[]Password{{labelOr(label), []byte("wrong")}}}
			_, err = s.Open(v.Get("value"))
			require.ErrorContains(t, err, "none of the given passwords can decrypt it (tried: "+labelOr(label)+")")
			s = Scheme{[]Password{{"another", right.Text}}} // the label is a hint, as with Ansible
			text, err = s.Open(v.Get("value"))
			require.NoError(t, err)
			require.Equal(t, v.Get("want").Text, text)
		})
	}
}

func TestWholeFile(t *testing.T) {
	data, err := os.ReadFile("testdata/whole.yaml")
	require.NoError(t, err)
	s := Scheme{[]Password{{"dev", []byte("open")}}}
	require.True(t, s.IsFile(data))
	text, err := s.OpenFile("whole.yaml", data)
	require.NoError(t, err)
	require.Equal(t, "password: hunter7-hunter7\nport: 8080\n", string(text))
}

func TestErrors(t *testing.T) {
	value := func(i int) string { return vectors(t)[i].Get("value").Text }
	flip := func(text string) string { // a digit of the salt
		i := len("$ANSIBLE_VAULT;1.1;AES256\n3")
		other := "1"
		if text[i] == '1' {
			other = "2"
		}
		return text[:i] + other + text[i+1:]
	}
	password := []Password{{"default", []byte("sesame")}}
	for _, c := range []struct {
		name, text string
		passwords  []Password
		want       string
	}{
		{"no password", value(0), nil, "f.yaml:3:7: the value is encrypted by ansible-vault, and no password is given\n" +
			"  hint: pass the vault password: --vault-id default@FILE, --vault-password-file FILE or --ask-vault-pass"},
		{"no password with an id", value(1), nil, "f.yaml:3:7: the value is encrypted by ansible-vault with the vault id \"dev\", and no password is given\n" +
			"  hint: pass the vault password: --vault-id dev@FILE, --vault-password-file FILE or --ask-vault-pass"},
		{"another id", value(1), password, "f.yaml:3:7: the value is encrypted by ansible-vault with the vault id \"dev\", and none of the given passwords can decrypt it (tried: default)\n" +
			"  hint: pass --vault-id dev@FILE; FILE must contain the password of the vault id \"dev\""},
		{"wrong", value(1), []Password{{"dev", []byte("x")}, {"prod", []byte("y")}}, "f.yaml:3:7: the value is encrypted by ansible-vault with the vault id \"dev\", and none of the given passwords can decrypt it (tried: dev, prod)\n" +
			"  hint: the password is wrong, or the text was changed; check with ansible-vault view"},
		{"changed", flip(value(0)), password, "f.yaml:3:7: the value is encrypted by ansible-vault, and none of the given passwords can decrypt it (tried: default)\n" +
			"  hint: the password is wrong, or the text was changed; check with ansible-vault view"},
		{"cut short", value(0)[:100], password, unreadable + "the encrypted text is incomplete, or text was added to it" + again},
		{"no header", "hunter2", password, unreadable + "it does not begin with $ANSIBLE_VAULT;" + again},
		{"version 1.0", "$ANSIBLE_VAULT;1.0;AES\n31", password, unreadable + "only AES256 is known, from ansible-vault 1.1 on; ansible-vault rekey writes it" + again},
		{"version 2", "$ANSIBLE_VAULT;2.0;AES256\n31", password, unreadable + "its header \"2.0;AES256\" is not of the formats 1.1 and 1.2" + again},
		{"not hexadecimal", "$ANSIBLE_VAULT;1.1;AES256\nhunter2", password, unreadable + "its lines are not all hexadecimal" + again},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Scheme{c.passwords}
			_, err := s.Open(&yamlpos.Node{File: "f.yaml", Line: 3, Column: 7, Text: c.text})
			require.EqualError(t, err, c.want)
		})
	}
}

const (
	unreadable = "f.yaml:3:7: the value is not valid ansible-vault data: "
	again      = "\n  hint: encrypt the value again with ansible-vault"
)

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Get("value").Text)
	}
	f.Add("$ANSIBLE_VAULT;1.2;AES256;a;b\n0a0a")
	f.Add(strings.Repeat("$ANSIBLE_VAULT;", 3))
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parse(text); err == nil {
			require.NotEmpty(t, e.ct)
		}
	})
}

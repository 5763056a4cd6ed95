package agefile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// someone returns a person with a key.
func someone(t testing.TB, name string) (recipients.Reader, age.Identity) {
	t.Helper()
	one, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	key, err := recipients.ParseKey(one.Recipient().String())
	require.NoError(t, err)
	return recipients.Reader{Name: name, Key: key}, one
}

// sealed encrypts the marked values of a text.
func sealed(t testing.TB, path, clear string, readers ...recipients.Reader) []byte {
	t.Helper()
	f, err := Read(path, path, nil)
	require.NoError(t, err)
	text, err := f.Seal([]byte(clear), readers)
	require.NoError(t, err)
	return text
}

func unlocked(t testing.TB, path string, text []byte, identities ...age.Identity) *File {
	t.Helper()
	f, err := Read(path, path, text)
	require.NoError(t, err)
	require.NoError(t, f.Unlock(identities))
	return f
}

const clearText = `# about this file
db:
  user: app   # not a secret
  password: !secret hunter2-hunter2   # rotate
  key: !secret |
    -----BEGIN-----
    abc
    -----END-----
users:
  - {name: anna, key: !secret "a: #1"}
  - {name: bert, key: !secret ''}
all: !secret
  one: 1
  two: "two"
base: &b {x: !secret merged}
use:
  <<: *b
`

func TestSealAndOpen(t *testing.T) {
	anna, annasKey := someone(t, "anna")
	bert, bertsKey := someone(t, "bert")
	text := sealed(t, "group_vars/all.yaml", clearText, anna, bert)
	for _, secret := range []string{"hunter2", "BEGIN-----", "a: #1", "two\"", "merged", "!secret"} {
		require.NotContains(t, string(text), secret)
	}
	require.Contains(t, string(text), "# file: group_vars/all.yaml\n# reader: anna "+anna.Key.Text+"\n# reader: bert ")
	require.Contains(t, string(text), "\n# about this file\ndb:\n  user: app   # not a secret\n")
	require.Regexp(t, `password: !age [A-Za-z0-9+/=]+   # rotate\n`, string(text))
	for _, identity := range []age.Identity{annasKey, bertsKey} {
		f := unlocked(t, "group_vars/all.yaml", text, identity)
		want := map[string]string{
			"db.password": "hunter2-hunter2", "db.key": "-----BEGIN-----\nabc\n-----END-----\n", "users[0].key": "a: #1", "users[1].key": "",
			"all.one": "1", "all.two": "two", "base.x": "merged",
		}
		require.Len(t, f.Values(), len(want))
		for _, s := range f.Values() {
			value, err := f.Value(s)
			require.NoError(t, err)
			require.Equal(t, want[s.Path.String()], value, s.Path)
		}
	}
	_, other := someone(t, "carl")
	f, err := Read("x", "group_vars/all.yaml", text)
	require.NoError(t, err)
	_, isOther := errors.AsType[*age.NoIdentityMatchError](f.Unlock([]age.Identity{other}))
	require.True(t, isOther)
}

// TestOnlyWhatChangesIsEncryptedAnew edits a text in clear and checks that everything else stays the same.
func TestOnlyWhatChangesIsEncryptedAnew(t *testing.T) {
	anna, key := someone(t, "anna")
	text := sealed(t, "a.yaml", clearText, anna)
	f := unlocked(t, "a.yaml", text, key)
	clear, err := f.Clear()
	require.NoError(t, err)
	require.Contains(t, string(clear), "    -----BEGIN-----\n", "texts of several lines are shown so")
	same, err := f.Seal(clear, nil)
	require.NoError(t, err)
	require.Equal(t, string(text), string(same))

	clear = bytes.Replace(clear, []byte("hunter2-hunter2"), []byte("changed"), 1)
	clear = append(clear, "new: !secret value\n"...)
	after, err := f.Seal(clear, nil)
	require.NoError(t, err)
	before, now := strings.Split(string(text), "\n"), strings.Split(string(after), "\n")
	require.Len(t, now, len(before)+1)
	differ := 0
	for i := range before[:len(before)-1] {
		if before[i] != now[i] {
			differ++
			require.Contains(t, now[i], "password: !age ")
		}
	}
	require.Equal(t, 1, differ)
}

// TestEveryExchangeIsRefused replaces each value by each other one, from the same file and from another one.
func TestEveryExchangeIsRefused(t *testing.T) {
	anna, key := someone(t, "anna")
	one := unlocked(t, "one.yaml", sealed(t, "one.yaml", clearText, anna), key)
	two := unlocked(t, "two.yaml", sealed(t, "two.yaml", clearText, anna), key)
	for _, from := range []*File{one, two} {
		for _, a := range from.Values() {
			for _, b := range one.Values() {
				if from == one && a.Path.String() == b.Path.String() {
					continue
				}
				b.Value = a.Value
				_, err := one.Value(b)
				require.ErrorContains(t, err, "the value was not encrypted for "+b.Path.String())
				if from == one {
					require.ErrorContains(t, err, ": it was encrypted for "+a.Path.String())
				}
			}
		}
	}
	// A header of another file opens none of them.
	both := append(bytes.Clone(one.Text[:one.Header.End]), two.Text[two.Header.End:]...)
	f, err := Read("two.yaml", "two.yaml", both)
	require.NoError(t, err)
	require.EqualError(t, f.Moved(), "two.yaml:1:1: the values were encrypted for one.yaml, and this is two.yaml\n  hint: if the file was moved or copied on purpose: ccm-push secret rekey --moved two.yaml")
	require.NoError(t, f.Unlock([]age.Identity{key}))
	for _, s := range f.Values() {
		_, err := f.Value(s)
		require.Error(t, err)
	}
}

// TestEveryFlippedByteIsRefused changes each byte of the header and of the values.
func TestEveryFlippedByteIsRefused(t *testing.T) {
	anna, key := someone(t, "anna")
	text := sealed(t, "a.yaml", "a: !secret x\n", anna)
	opens := func(text []byte) bool {
		f, err := Read("a.yaml", "a.yaml", text)
		if err != nil || f.Moved() != nil || f.Unlock([]age.Identity{key}) != nil || len(f.Values()) == 0 {
			return false
		}
		_, err = f.Value(f.Values()[0])
		return err == nil
	}
	require.True(t, opens(text))
	require.True(t, opens(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))), "git may change the line ends")
	for i := range text[:len(text)-1] { // the last newline is not needed
		for _, bit := range []byte{1, 2, 4, 8, 16, 32, 64, 128} {
			changed := bytes.Clone(text)
			changed[i] ^= bit
			if opens(changed) {
				// The value may be surrounded by other blanks, as in any YAML.
				require.Contains(t, " \t\n\r", string(changed[i]), "byte %d, bit %d: %q", i, bit, changed)
			}
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	anna, _ := someone(t, "anna")
	text := string(sealed(t, "a.yaml", "a: !secret x\n", anna))
	f, err := Read("a.yaml", "a.yaml", []byte(text))
	require.NoError(t, err)
	header := text[:f.Header.End]
	for _, c := range []struct{ name, text, want string }{
		{"none", "a: !age " + strings.Repeat("A", 60) + "\n", "a.yaml:1:4: !age is in a file without the header that has its key"},
		{"two", header + text, "there is a second header of ccm-push secret"},
		{"cut", header[:len(header)-10], "a.yaml:1:1: the header was changed by something else than ccm-push"},
		{"a merge", strings.Replace(text, "# reader", "<<<<<<< ours\n# reader", 1), "a.yaml:1:1: the header was changed by something else than ccm-push"},
		{"no value", header + "\nb: !age x\n", ":4: this is not a value that ccm-push encrypted"},
	} {
		_, err := Read("a.yaml", "a.yaml", []byte(c.text))
		require.ErrorContains(t, err, c.want, c.name)
		require.ErrorContains(t, err, "hint: restore the file", c.name)
	}
}

func TestSet(t *testing.T) {
	anna, key := someone(t, "anna")
	for _, c := range []struct{ name, before, path, want string }{
		{"known", "a: !secret x # c\nb: 1\n", "a", "a: !secret v # c\nb: 1\n"},
		{"in clear", "a: x # c\n", "a", "a: !secret v # c\n"},
		{"at the end", "a: 1\n# end\n", "b", "a: 1\n# end\nb: !secret v\n"},
		{"no newline", "a: 1", "b", "a: 1\nb: !secret v\n"},
		{"new map", "a: 1\n", "b.c.d", "a: 1\nb:\n  c:\n    d: !secret v\n"},
		{"nested", "a:\n  # one\n  b: 1\nc: 2\n", "a.x", "a:\n  # one\n  x: !secret v\n  b: 1\nc: 2\n"},
		{"nested deep", "a:\n  b: 1\n", "a.x.z", "a:\n  x: {z: !secret v}\n  b: 1\n"},
		{"flow", "a: {b: 1}\n", "a.x", "a: {x: !secret v, b: 1}\n"},
		{"empty", "a: {}\n", "a.x", "a: {x: !secret v}\n"},
		{"list", "u:\n- n: anna\n- n: bert\n", "u[1].k", "u:\n- n: anna\n- k: !secret v\n  n: bert\n"},
		{"empty file", "", "a.b", "a:\n  b: !secret v\n"},
		{"odd key", "a: 1\n", `"web1.example.org"`, "a: 1\nweb1.example.org: !secret v\n"},
		{"only a comment", "# c\n", "a", "# c\na: !secret v\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := unlocked(t, "a.yaml", sealed(t, "a.yaml", c.before, anna), key)
			path, err := yamlpos.ParsePath(c.path)
			require.NoError(t, err)
			clear, err := f.Set(path, "v")
			require.NoError(t, err)
			require.Equal(t, c.want, string(clear))
			text, err := f.Seal(clear, []recipients.Reader{anna})
			require.NoError(t, err)
			after := unlocked(t, "a.yaml", text, key)
			s, ok := after.Find(path)
			require.True(t, ok)
			value, err := after.Value(s)
			require.NoError(t, err)
			require.Equal(t, "v", value)
		})
	}
	for _, c := range []struct{ before, path, want string }{
		{"a: 1\n", "a.b", "a.yaml: no place for a key a.b"},
		{"a: [1]\n", "a[3]", "a.yaml: no place for a key a[3]"},
		{"a: {b: 1}\n", "a", "a.yaml: no place for a key a"},
		{"a:\n", "a", "a.yaml: no place for a key a"},
		{"a: 1\n---\nb: 2\n", "c", "a.yaml: no place for a key c"},
	} {
		f := unlocked(t, "a.yaml", []byte(c.before))
		path, err := yamlpos.ParsePath(c.path)
		require.NoError(t, err)
		_, err = f.Set(path, "v")
		require.ErrorContains(t, err, c.want)
	}
}

func TestRekey(t *testing.T) {
	anna, annasKey := someone(t, "anna")
	bert, bertsKey := someone(t, "bert")
	text := sealed(t, "old.yaml", clearText, anna)
	f := unlocked(t, "new.yaml", text, annasKey)
	after, err := f.Rekey([]recipients.Reader{bert})
	require.NoError(t, err)
	got := unlocked(t, "new.yaml", after, bertsKey)
	require.NoError(t, got.Moved())
	want, err := f.Clear()
	require.NoError(t, err)
	clear, err := got.Clear()
	require.NoError(t, err)
	require.Equal(t, string(want), string(clear))
	require.NotEqual(t, f.key, got.key)
	locked, err := Read("new.yaml", "new.yaml", after)
	require.NoError(t, err)
	require.Error(t, locked.Unlock([]age.Identity{annasKey}))
	for _, s := range f.Values() {
		require.NotContains(t, string(after), s.Value)
	}
}

func TestSealErrors(t *testing.T) {
	anna, key := someone(t, "anna")
	f := unlocked(t, "a.yaml", sealed(t, "a.yaml", "a: !secret x\n", anna), key)
	for clear, want := range map[string]string{
		"a: [\n":                     "a.yaml:",
		"a: !age AAAA\n":             "!age is in a file without the header",
		string(f.Text):               "the text contains a header of ccm-push secret",
		"a: !secret x\na: !secret y": `the key "a" occurs twice`,
	} {
		_, err := f.Seal([]byte(clear), nil)
		require.ErrorContains(t, err, want)
	}
}

func TestWhole(t *testing.T) {
	anna, key := someone(t, "anna")
	_, other := someone(t, "bert")
	for _, armored := range []bool{false, true} {
		text, err := EncryptWhole([]byte("secret text"), []recipients.Reader{anna}, armored)
		require.NoError(t, err)
		require.True(t, IsWhole(text))
		require.Equal(t, armored, IsArmored(text))
		clear, err := DecryptWhole(text, []age.Identity{key})
		require.NoError(t, err)
		require.Equal(t, "secret text", string(clear))
		_, err = DecryptWhole(text, []age.Identity{other})
		require.Error(t, err)
		ssh, others, err := Stanzas(text)
		require.NoError(t, err)
		require.Empty(t, ssh)
		require.Equal(t, 1, others)
		if armored {
			continue
		}
		for i := range text {
			changed := bytes.Clone(text)
			changed[i] ^= 1
			_, err := DecryptWhole(changed, []age.Identity{key})
			require.Error(t, err, "byte %d", i)
		}
	}
	require.False(t, IsWhole([]byte("a: 1\n")))
}

// TestRandomEdits edits random texts and checks that untouched values stay the same.
func TestRandomEdits(t *testing.T) {
	anna, key := someone(t, "anna")
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var b strings.Builder
		for i := range 1 + r.IntN(6) {
			mark := []string{"", "!secret "}[r.IntN(2)]
			fmt.Fprintf(&b, "k%d: %s%q # c%d\nm%d:\n  - {x: %sv%d}\n", i, mark, strings.Repeat("ä\n", r.IntN(4)), i, i, mark, i)
		}
		text := sealed(t, "a.yaml", b.String(), anna)
		f := unlocked(t, "a.yaml", text, key)
		clear, err := f.Clear()
		require.NoError(t, err)
		again, err := f.Seal(clear, nil)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	}
}

func FuzzHeader(f *testing.F) {
	anna, _ := someone(f, "anna")
	f.Add(sealed(f, "a.yaml", "a: !secret x\n", anna))
	f.Add([]byte(begin + "\n# file: x\n" + end + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := FindHeader("a.yaml", text)
		if err != nil || h == nil {
			return
		}
		again, err := FindHeader("a.yaml", []byte(h.Text()))
		require.NoError(t, err)
		require.Equal(t, h.Text(), again.Text())
	})
}

func FuzzRead(f *testing.F) {
	anna, key := someone(f, "anna")
	f.Add(sealed(f, "a.yaml", "a: !secret x\n", anna), "a.b", "v")
	f.Add(sealed(f, "a.yaml", clearText, anna), "users[0].x", "a\nb\n")
	f.Add([]byte("a: {b: [!secret x]}\n"), "c", "")
	f.Fuzz(func(t *testing.T, text []byte, at, value string) {
		file, err := Read("a.yaml", "a.yaml", text)
		if err != nil || file.Unlock([]age.Identity{key}) != nil {
			return
		}
		if clear, err := file.Clear(); err == nil {
			if same, err := file.Seal(clear, []recipients.Reader{anna}); err == nil && len(file.Marked()) == 0 {
				require.Equal(t, string(text), string(same))
			}
		}
		path, err := yamlpos.ParsePath(at)
		if err != nil {
			return
		}
		if clear, err := file.Set(path, value); err == nil {
			_, _ = file.Seal(clear, []recipients.Reader{anna})
		}
	})
}

func FuzzValue(f *testing.F) {
	f.Add("AAAA", "a", "v")
	f.Fuzz(func(t *testing.T, text, file, value string) {
		var key dataKey
		path := yamlpos.Path{}.Key(value)
		_, err := key.open(file, path, text)
		require.Error(t, err)
		got, err := key.open(file, path, key.seal(file, path, value))
		require.NoError(t, err)
		require.Equal(t, value, got)
	})
}

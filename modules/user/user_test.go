package user

import (
	"encoding/json"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

func hashed() []string {
	return []string{
		"$1$abc$OGyl6dDvZCDiGmIVbeuCq/",
		"$2b$05$abcdefghijklmnopqrstuuhKF09ZYWwH2zP/0fwE1X8e/Q1YNx/hO",
		"$5$.4.r6fG2COCBEcg7$N6hOf8PIPeheaH8EEOkKdkaGp1tlf1JXuSGkMM9Pbf.",
		"$6$rounds=5000$abcdefgh$D7W7qyozKBT.t6FD3DVYHvADbIO0eSyI4.p20LaEUjro8PqTGYYo/EQcuNjhFbzo9Yg5ir1KIEqFY/yJpgFph0",
		"$y$j9T$abcdefgh$9WNEpu8Mx2S4KNGvbVWKM6clOSoY6.YEl7AYF4DGV04",
		"$gy$j9T$abcdefgh$CiTibHdBM/5r3qmg1i0DxivDn1U977EDVDgQAyycj9/",
		"$7$CU..../....abcdefgh$19TzpFZ5AwP26vdEMbfvWacoVUfd2MfVusFAVFilh.C",
		"$sha1$40000$abcdefgh$J2S3Jd4LxTWQywgvIqKyDWuOJ2ZF",
		"!", "*", "!!", "!*",
		"!$1$abc$OGyl6dDvZCDiGmIVbeuCq/",
	}
}

func TestHashes(t *testing.T) {
	for _, text := range hashed() {
		require.NoError(t, checkHash(text), text)
	}
	for _, text := range []string{
		"hunter2", "abcdefghijklm", "x", "!hunter2", "$6$short", "$6$salt$hunter2", "$6$salt$" + strings.Repeat("a", 85), "$9$a$" + strings.Repeat("a", 86),
		"$6$sa:t$" + strings.Repeat("a", 86), "$6$salt$" + strings.Repeat("a", 86) + "\nroot:", " ", "!!!", "$6$" + strings.Repeat("a", 86),
	} {
		require.EqualError(t, checkHash(text), "password_hash: the value is not a crypt(3) password hash; a plain password is not accepted (create a hash with: openssl passwd -6)", text)
	}
}

func TestValidate(t *testing.T) {
	number := func(n int) *int { return &n }
	text := func(s string) *string { return &s }
	modtest.Validates(t, []modtest.Verdict[User]{
		{Name: "all is well", Of: User{Name: "app", UID: number(0), Group: "100", Groups: []string{"a", "5"}, Append: true, Shell: "/bin/sh", Home: "/home/app", Comment: text("Äpp, 1"), PasswordHash: "*", Expires: "1970-01-02", SSHKeys: []string{annKey, beaKey}, SSHKeysExclusive: true}},
		{Name: "name", Of: User{Name: "a b"}, Err: `name: "a b" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "id", Of: User{Name: "app", UID: number(-1)}, Err: "uid: id -1 is outside 0-4294967294"},
		{Name: "group", Of: User{Name: "app", Group: "-g"}, Err: `group: "-g" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "groups", Of: User{Name: "app", Groups: []string{"a", "b,c", ""}}, Err: `groups[1]: "b,c" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)` + "\ngroups[2]: the name of a group is empty"},
		{Name: "append", Of: User{Name: "app", Append: true}, Err: `groups: 'append: true' needs "groups"`},
		{Name: "relative shell", Of: User{Name: "app", Shell: "sh"}, Err: `shell: "sh" is not an absolute path`},
		{Name: "colon in the home", Of: User{Name: "app", Home: "/home/a:b"}, Err: `home: "/home/a:b" has a colon or a control character`},
		{Name: "dots in the home", Of: User{Name: "app", Home: "/home/../etc"}, Err: `home: "/home/../etc" is not canonical (write /etc)`},
		{Name: "no home", Of: User{Name: "app", Home: "/"}, Err: "home: the root directory cannot be a home"},
		{Name: "two lines", Of: User{Name: "app", Comment: text("a\nroot2:x:0:0:::")}, Err: `comment: "a\nroot2:x:0:0:::" has a colon or a control character`},
		{Name: "password", Of: User{Name: "app", PasswordHash: "hunter2"}, Err: "password_hash: the value is not a crypt(3) password hash; a plain password is not accepted (create a hash with: openssl passwd -6)"},
		{Name: "date", Of: User{Name: "app", Expires: "31.12.2030"}, Err: `expires: "31.12.2030" is not a date after 1970-01-01 (write a date such as 2030-12-31, or the word never)`},
		{Name: "no such date", Of: User{Name: "app", Expires: "2030-02-30"}, Err: `expires: "2030-02-30" is not a date after 1970-01-01 (write a date such as 2030-12-31, or the word never)`},
		{Name: "first date", Of: User{Name: "app", Expires: "1970-01-01"}, Err: `expires: "1970-01-01" is not a date after 1970-01-01 (write a date such as 2030-12-31, or the word never)`},
		{Name: "exclusive", Of: User{Name: "app", SSHKeysExclusive: true}, Err: `ssh_keys: 'ssh_keys_exclusive: true' needs "ssh_keys"`},
		{Name: "root", Of: User{Name: "root", Ensure: absent}, Err: "ensure: the user root cannot be absent"},
		{Name: "home of a user who stays", Of: User{Name: "app", RemoveHome: true}, Err: "remove_home: 'remove_home: true' is only valid with 'ensure: absent'"},
		{Name: "a key twice", Of: User{Name: "app", SSHKeys: []string{annKey, beaKey, "restrict " + annKey}}, Err: "ssh_keys[2]: the same key as ssh_keys[0]"},
		{Name: "no key", Of: User{Name: "app", SSHKeys: []string{"ann"}}, Err: "ssh_keys[0]: the line has no public key of a known type (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "a private key", Of: User{Name: "app", SSHKeys: []string{"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA"}}, Err: "ssh_keys[0]: the key has a line break or another control character (this is a private key, which stays where it is: copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "two keys in one", Of: User{Name: "app", SSHKeys: []string{annKey + "\n" + beaKey}}, Err: "ssh_keys[0]: the key has a line break or another control character (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "empty key", Of: User{Name: "app", SSHKeys: []string{" "}}, Err: "ssh_keys[0]: the key is empty (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "comment for a key", Of: User{Name: "app", SSHKeys: []string{"# ann"}}, Err: "ssh_keys[0]: this is a comment, not a key (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "open quote", Of: User{Name: "app", SSHKeys: []string{`command="ls ` + annKey}}, Err: "ssh_keys[0]: a quote in the options of the key is not closed (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "long key", Of: User{Name: "app", SSHKeys: []string{annKey + strings.Repeat("x", 8192)}}, Err: "ssh_keys[0]: the key is longer than 8192 bytes (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "many keys", Of: User{Name: "app", SSHKeys: make([]string, 1001)}, Err: "ssh_keys: more than 1000 keys"},
	})
}

// TestWire checks that empty and missing properties stay different.
func TestWire(t *testing.T) {
	for _, test := range []struct {
		user User
		json string
	}{
		{User{Name: "a"}, `{"name":"a"}`},
		{User{Name: "a", Groups: []string{}, SSHKeys: []string{}, Comment: new(string), UID: new(int), CreateHome: new(bool)}, `{"name":"a","uid":0,"groups":[],"create_home":false,"comment":"","ssh_keys":[]}`},
	} {
		text, err := json.Marshal(test.user)
		require.NoError(t, err)
		require.JSONEq(t, test.json, string(text))
		var again User
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, test.user, again)
	}
}

func TestKeyLines(t *testing.T) {
	for _, options := range []string{"", "restrict ", `command="a \"b\" c",no-pty ` + "\t", `environment="A=ssh-ed25519 x" `} {
		k, err := publickey.Parse("  " + options + annKey + "  ")
		require.NoError(t, err, options)
		require.Equal(t, options+annKey, k.Line)
		require.Equal(t, annPrint, k.Fingerprint())
	}
	for _, line := range []string{"ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa " + strings.Fields(annKey)[1], "restrict", `"`, "ssh-ed25519 //// x"} {
		_, err := publickey.Parse(line)
		require.Error(t, err, line)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, line := range []string{annKey, beaKey, `command="a \"b\"" ` + annKey, "#", "", `"`, "a b c"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		k, err := publickey.Parse(line)
		if err != nil {
			return
		}
		require.NotEmpty(t, k.Blob)
		require.NotContains(t, k.Line, "\n")
		again, err := publickey.Parse(k.Line)
		require.NoError(t, err)
		require.Equal(t, k, again)
	})
}

// TestMergeKeys uses files of other systems: their lines keep their ends, and a byte order mark before a key is
// removed, since sshd does not read the key after it.
func TestMergeKeys(t *testing.T) {
	want, err := parseKeys([]string{annKey})
	require.NoError(t, err)
	for text, merged := range map[string]string{
		"":                                       annKey + "\n",
		"# a\r\nrestrict " + annKey + "\r\n":     "# a\r\n" + annKey + "\r\n",
		beaKey + "\r\n" + annKey:                 beaKey + "\r\n" + annKey,
		"\ufeff" + annKey + "\n" + beaKey + "\n": annKey + "\n" + beaKey + "\n",
		"\ufeff# a\n":                            "\ufeff# a\n" + annKey + "\n",
		annKey + "\n" + beaKey + "\nrestrict " + annKey + "\n": annKey + "\n" + beaKey + "\n",
	} {
		require.Equal(t, merged, mergeKeys(text, want, false), "%q", text)
	}
}

// FuzzMergeKeys checks for any file: each wanted key is there once, the rest stays or is removed, and a second merge
// changes nothing.
func FuzzMergeKeys(f *testing.F) {
	f.Add("# a\n"+annKey+"\nrestrict "+annKey, true)
	f.Add(beaKey, false)
	f.Add("\ufeff"+annKey+"\r\n# a", false)
	f.Add("\x00\r\n\"", false)
	f.Fuzz(func(t *testing.T, text string, exclusive bool) {
		want, err := parseKeys([]string{"restrict " + annKey, beaKey})
		require.NoError(t, err)
		merged := mergeKeys(text, want, exclusive)
		require.Equal(t, merged, mergeKeys(merged, want, exclusive))
		d := &draft{User: &User{SSHKeysExclusive: exclusive}}
		(&keyFile{User: d.User, plan: d}).compare(publickey.InFile(merged), want)
		require.Empty(t, d.Changes)
		if !exclusive {
			require.GreaterOrEqual(t, len(publickey.InFile(merged)), 2)
		}
	})
}

func TestExpiry(t *testing.T) {
	for text, days := range map[string]string{"never": "", "": "", "1970-01-02": "1", "2031-02-03": "22313", "9999-12-31": "2932896"} {
		got, err := parseExpiry(text)
		require.NoError(t, err)
		require.Equal(t, days, got)
		if text != "" {
			require.Equal(t, text, describeExpiry(days))
		}
	}
	require.Equal(t, never, describeExpiry("-1"))
}

func FuzzParseExpiry(f *testing.F) {
	for _, text := range []string{"never", "", "1970-01-02", "2030-02-30", "9999-12-31", "0000-00-00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		days, err := parseExpiry(text)
		if err == nil && text != "" {
			require.Equal(t, text, describeExpiry(days))
		}
	})
}

// TestRefusesWithoutRoot forgets to become root in every way.
func TestRefusesWithoutRoot(t *testing.T) {
	needs.Program(t, "useradd")
	modtest.AsOrdinaryUser(t, refusesWithoutRoot)
}

func refusesWithoutRoot(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	for properties, want := range map[string]string{
		`{"name":"no-such-user","create_home":false}`:               `^user \d+ may not write in "/etc"; use "become"$`,
		`{"name":"` + me.Username + `","comment":"x y z"}`:          `^user \d+ may not write in "/etc"; use "become"$`,
		`{"name":"` + me.Username + `","password_hash":"*"}`:        `^open /etc/shadow: permission denied; use "become"$`,
		`{"name":"root","ssh_keys":["` + annKey + `"]}`:             `^ssh_keys: .*(permission denied|may not give files to user 0).*$`,
		`{"name":"daemon","ensure":"absent","remove_home":true}`:    `^user "daemon" is logged|^remove_home: |^user \d+ may not write in "/etc"`,
		`{"name":"` + me.Username + `","groups":["no-such-group"]}`: `^groups\[0\]: group "no-such-group" does not exist; create the group with an earlier group resource$`,
	} {
		res := modtest.Decode(t, modules.Registry{Type()}, "user", properties, "")
		_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.Error(t, err, properties)
		require.Regexp(t, want, err.Error())
		var r modules.Redactor
		require.ErrorAs(t, err, &r)
	}
	require.NotZero(t, os.Geteuid())
}

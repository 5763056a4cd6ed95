package keyring

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A note is a signed message.
type note struct{ Text string }

func (n *note) Check() error { return nil }

// TestKeys reads keys and lists, and verifies messages.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "a"), "")
	sshtest.WriteKey(t, filepath.Join(dir, "locked"), "secret")
	key, err := ReadKey(filepath.Join(dir, "a"))
	require.NoError(t, err)
	_, err = ReadKey(filepath.Join(dir, "locked"))
	require.ErrorContains(t, err, "the key has a passphrase")
	for _, test := range []struct{ text, err string }{
		{"# nobody\n", "LIST: the file has no key"},
		{"\nssh-ed25519\n", "LIST:2: this is not a public key: write lines in the format of authorized_keys"},
		{`command="x" ` + key.Public(), "LIST:1: options before a key have no meaning here: remove them"},
		{sshtest.PublicLine(sshtest.NewKey(t, "ecdsa")), "LIST:1: the key is of type ecdsa-sha2-nistp256, and only ssh-ed25519 is accepted"},
		{key.Public() + " of a", ""},
	} {
		list := filepath.Join(dir, "list")
		require.NoError(t, os.WriteFile(list, []byte(test.text), 0o600))
		ring, err := readKeyring(list, false)
		if test.err != "" {
			require.EqualError(t, err, strings.ReplaceAll(test.err, "LIST", list), "%s", test.text)
			continue
		}
		require.NoError(t, err)
		text, err := Sign(key, "ticket", &note{Text: "r"})
		require.NoError(t, err)
		var got note
		who, err := Verify(ring, "ticket", text, &got)
		require.NoError(t, err)
		require.Equal(t, "of a", who)
		require.Equal(t, "r", got.Text)
		_, err = Verify(ring, "order", text, &got)
		require.ErrorContains(t, err, "the signature of the order is wrong", "what is signed as one thing is nothing else")
		_, err = Verify(Keyring{}, "ticket", text, &got)
		require.True(t, IsStranger(err))
	}
}

// TestEntries reads lines with options.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "a"), "")
	key, err := ReadKey(filepath.Join(dir, "a"))
	require.NoError(t, err)
	long := strings.TrimSuffix(strings.Repeat("192.0.2.1,", MaxAddresses+1), ",")
	for _, one := range []struct{ options, sites, from, err string }{
		{`site="paris"`, `["paris"]`, "[]", ""},
		{`site="paris, lyon",from="10.1.2.3/8,192.0.2.7"`, `["paris" "lyon"]`, "[10.0.0.0/8 192.0.2.7/32]", ""},
		{`SITE=""`, `[""]`, "[]", ""},
		{`site="",site="paris"`, `["" "paris"]`, "[]", ""},
		{`from="2001:db8::/32"`, `[]`, "[2001:db8::/32]", ""},
		{`site="paris,"`, "", "", `has an empty name: for hosts without a site write site="",site="OTHER"`},
		{`site=paris`, "", "", "write its value in double quotes"},
		{`site=paris,lyon`, "", "", "write its value in double quotes"},
		{`site`, "", "", "write its value in double quotes"},
		{`site="a\"b"`, "", "", "write its value in double quotes"},
		{`from=""`, "", "", "write an address such as"},
		{`from="!10.0.0.1"`, "", "", "write an address such as"},
		{`from="*.example.com"`, "", "", "write an address such as"},
		{`from="fe80::1%eth0"`, "", "", "write an address such as"},
		{`from="` + long + `"`, "", "", "has more than 32 addresses"},
		{`sites="paris"`, "", "", `the option "sites" is unknown`},
		{`no-pty,site="paris"`, "", "", `the option "no-pty" is unknown`},
	} {
		ring, err := parseKeyring("list", []byte(one.options+" "+key.Public()+" of a\n"), true)
		if one.err != "" {
			require.ErrorContains(t, err, one.err, one.options)
			require.ErrorContains(t, err, "list:1: ")
			continue
		}
		require.NoError(t, err, one.options)
		for _, e := range ring {
			require.Equal(t, one.sites, fmt.Sprintf("%q", e.Sites))
			require.Equal(t, one.from, fmt.Sprint(e.From))
			require.Equal(t, "of a", e.Name)
		}
		_, err = parseKeyring("list", []byte(one.options+" "+key.Public()+"\n"+key.Public()+"\n"), true)
		require.ErrorContains(t, err, "list:2: the line list:1 has the same key with other options")
		_, err = parseKeyring("list", []byte(one.options+" "+key.Public()), false)
		require.ErrorContains(t, err, "list:1: options before a key have no meaning here")
	}
	for _, site := range []string{"a,b", `a"b`, `a\b`, " a", "a\nb"} {
		_, err := SiteOption(site)
		require.Error(t, err, site)
	}
}

// FuzzKeyring reads any list: a line never limits less than its options say.
func FuzzKeyring(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9Y7bpuC2RrBHHv5ZlYkjJD9mZ4q1S3dYbJ1xv6qgQY w1\n"
	for _, line := range []string{"", `site="paris" `, `site="",from="10.0.0.0/8,192.0.2.7" `, `from="::/0",site="a,b" `, `site="a `, `site=a,b `, "# "} {
		f.Add([]byte(line + key))
		f.Add([]byte(line + key + key))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := parseKeyring("list", text, true)
		if err != nil {
			return
		}
		for blob, e := range ring {
			if e.Name == "" || e.At == "" || len(blob) == 0 {
				t.Fatalf("%+v", e)
			}
			if len(e.Sites) > 0 {
				if option, err := SiteOption(e.Sites...); err == nil {
					again := &Entry{}
					for part := range strings.SplitSeq(option, `",`) {
						if err := again.limit(strings.TrimSuffix(part, `"`) + `"`); err != nil {
							t.Fatal(option, err)
						}
					}
					for _, site := range e.Sites {
						if !again.Allows(site) {
							t.Fatalf("%q: %s", site, option)
						}
					}
				}
			}
			for _, named := range []string{"0.0.0.0/0", "::/0", "10.1.0.0/16"} {
				list, ok := e.Sources([]netip.Prefix{netip.MustParsePrefix(named)})
				if ok != (len(list) > 0) {
					t.Fatal("bound to nothing")
				}
				for _, p := range list {
					inside := len(e.From) == 0
					for _, allowed := range e.From {
						inside = inside || allowed.Bits() <= p.Bits() && allowed.Contains(p.Addr())
					}
					if !inside {
						t.Fatalf("%v is beyond %v", p, e.From)
					}
				}
			}
		}
	})
}

package knownhost

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const (
	one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"
	two = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33"
	rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vc6hPLJN2PyBky3RPsnssucoHbA3aIFI7c3lpIIgYHV2sgS4ziXK69mxjhgNv6Scy9ID4wEiShSmsr+BuRMw+pWOCrXGn35BqU8XpyQYa47/sSMFzBdGgyKu4RvNGIDcprxMjhnRM2Dc8S3xCcomOb4nYujc1inxEBFZfFFSTaWhkgB6PHu3a3BDrp5VSINJBCpNgFIOXF2pli1s4RMmLWrmb3k6/GM6rLKU/O7jeWfaoZ68qnx/rqAgM37ZC8dHqT96EnBe2ApopZajS4+L7QhBf0YerNJIoaD5HiHtPyBsh4GvJsaZyp8HxTyraQ3UNVrywi6lLU2p7tPYooe5"
	// hashed is git.example.net as ssh-keygen -H writes it.
	hashed = "|1|mGm8yGnlxb8rZTbDW9ovYKX4dkA=|4bJw1CCyy6OXg95E8Qqpy6tvDyM="
)

func TestEdit(t *testing.T) {
	for _, test := range []struct {
		name   string
		host   KnownHost
		have   string
		want   string
		action string
	}{
		{"new", KnownHost{Keys: []string{one}}, "# ours\nother " + two + "\n", "# ours\nother " + two + "\ngit.example.net " + one + "\n", "added the host"},
		{"known", KnownHost{Keys: []string{one + " comment"}}, "git.example.net " + one + " x\n", "git.example.net " + one + " x\n", ""},
		{"known, hashed", KnownHost{Keys: []string{one}}, hashed + " " + one + "\n", hashed + " " + one + "\n", ""},
		{"another key", KnownHost{Keys: []string{one}}, "# of git\n" + hashed + " " + two + " comment\nother " + two + "\n", "# of git\n" + hashed + " " + one + " comment\nother " + two + "\n", "changed the keys"},
		{"a line of several hosts", KnownHost{Keys: []string{one}}, "git.example.net,192.0.2.1 " + two + " comment\nother " + two + "\n", "192.0.2.1 " + two + " comment\ngit.example.net " + one + " comment\nother " + two + "\n", "changed the keys"},
		{"a key of another type", KnownHost{Keys: []string{one}}, "git.example.net " + rsa + "\nother " + two + "\n", "other " + two + "\ngit.example.net " + one + "\n", "changed the keys"},
		{"one more key", KnownHost{Keys: []string{one, two}}, "a,git.example.net " + two + "\n", "a,git.example.net " + two + "\ngit.example.net " + one + "\n", "changed the keys"},
		{"there twice", KnownHost{Keys: []string{one}}, "git.example.net " + one + "\n" + hashed + " " + one + "\n", "git.example.net " + one + "\n", "changed the keys"},
		{"others", KnownHost{Keys: []string{one}}, "@revoked git.example.net " + two + "\n*.example.net " + two + "\n", "@revoked git.example.net " + two + "\n*.example.net " + two + "\ngit.example.net " + one + "\n", "added the host"},
		{"absent", KnownHost{Ensure: absent}, hashed + " " + one + "\na,git.example.net " + two + "\nb " + one + "\n", "a " + two + "\nb " + one + "\n", "removed the host"},
		{"absent, and not there", KnownHost{Ensure: absent}, "b " + one + "\n", "b " + one + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := test.host
			k.Name = "git.example.net"
			require.NoError(t, k.Validate())
			text := edit.Parse(test.have)
			done, err := k.edit(text)
			require.NoError(t, err)
			require.Equal(t, test.want, text.String())
			require.Equal(t, test.action, done.Action)
			done, err = k.edit(text)
			require.NoError(t, err)
			require.Equal(t, edit.Done{}, done)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[KnownHost]{
		{Name: "a host", Of: KnownHost{Name: "git.example.net", Keys: []string{one}}},
		{Name: "with a port", Of: KnownHost{Name: "[192.0.2.1]:2222", Keys: []string{one, two}}},
		{Name: "absent", Of: KnownHost{Name: "h", Ensure: absent}},
		{Name: "two names", Of: KnownHost{Name: "a,b", Ensure: absent}, Err: `name: "a,b" names no host (write one name or address, with a port as [host]:2222)`},
		{Name: "no keys", Of: KnownHost{Name: "h"}, Err: `keys: "keys" cannot be empty (ssh-keyscan HOST prints the keys of a host; compare their fingerprints with the fingerprints on the console of the host)`},
		{Name: "with the name", Of: KnownHost{Name: "h", Keys: []string{"h " + one}}, Err: "keys[0]: this is not a public key (write the type and the key, such as: ssh-ed25519 AAAA…)"},
		{Name: "empty", Of: KnownHost{Name: "h", Keys: []string{""}}, Err: "keys[0]: this is not a public key (write the type and the key, such as: ssh-ed25519 AAAA…)"},
		{Name: "path", Of: KnownHost{Name: "h", Keys: []string{one}, Path: "x"}, Err: "path: file path must be absolute (write a path that begins with /)"},
	})
}

func TestConverges(t *testing.T) {
	change := func(have, want string) []modules.Change {
		return []modules.Change{{Property: "key", Have: have, Want: want}}
	}
	have := modtest.Node{Path: "kh", Text: "other " + two + "\n" + hashed + " " + one + "\n", Mode: 0o640}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "a host", Tree: []modtest.Node{have}, Properties: `{"name":"new","path":"$ROOT/kh","keys":["` + two + `"]}`,
			Action: "added the host", Changes: change(absent, fingerprint(two)),
		},
		{Name: "known", Tree: []modtest.Node{have}, Properties: `{"name":"git.example.net","path":"$ROOT/kh","keys":["` + one + `"]}`},
		{
			Name: "no longer", Tree: []modtest.Node{have}, Properties: `{"name":"git.example.net","path":"$ROOT/kh","ensure":"absent"}`,
			Action: "removed the host", Changes: change(fingerprint(one), absent),
		},
		{
			Name: "a new file", Properties: `{"name":"new","path":"$ROOT/kh","keys":["` + two + `"],"owner":"$UID"}`,
			Action: "created the file", Changes: change(absent, fingerprint(two)),
		},
		{Name: "no file and no host", Properties: `{"name":"new","path":"$ROOT/kh","ensure":"absent"}`},
	}...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "known_host", Properties: `{"path":"$ROOT/kh",` + properties + `}`}
	}
	modtest.Predicts(t, modules.Registry{file.Type(), Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			step(`"name":"a","keys":["` + one + `"]`),
			step(`"name":"b","keys":["` + two + `"]`),
			step(`"name":"a","keys":["` + one + `"]`),
			step(`"name":"a","ensure":"absent"`),
			{Type: "file", Properties: `{"name":"$ROOT/kh","content":"b ` + two + `\n","mode":"0644"}`},
		},
		Want: []string{"changed", "changed", "stable", "changed", "stable"},
	})
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "kh", Text: hashed + " " + one + "\n"}})
	for name, want := range map[string]string{"git.example.net": `"ensure":"present","keys":["` + one + `"]`, "other": `"ensure":"absent"`} {
		k := &KnownHost{Name: name, Path: root + "/kh", Ensure: absent}
		modtest.Describes(t, modtest.Host(), k, `{"name":"`+name+`","path":"`+root+`/kh",`+want+`}`)
		sources, err := k.Watch(t.Context(), modtest.Host())
		require.NoError(t, err)
		require.Equal(t, modules.Sources{Paths: []string{root + "/kh"}}, sources)
	}
}

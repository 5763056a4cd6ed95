package authorizedkey

import (
	"fmt"
	"os/user"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

const (
	ann = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"
	bea = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33"
)

func print(line string) string {
	key, err := publickey.Parse(line)
	if err != nil {
		panic(err)
	}
	return key.Fingerprint()
}

func TestEdit(t *testing.T) {
	for _, test := range []struct {
		name   string
		key    AuthorizedKey
		have   string
		want   string
		action string
	}{
		{"a new one", AuthorizedKey{Key: ann}, "# ours\n" + bea + " b\n", "# ours\n" + bea + " b\n" + ann + " n\n", "added the key"},
		{"with a comment", AuthorizedKey{Key: ann + "  ann@example.net "}, "", ann + " ann@example.net\n", "added the key"},
		{"with options", AuthorizedKey{Key: ann, Options: []string{"restrict", `command="a b"`}}, "", `restrict,command="a b" ` + ann + " n\n", "added the key"},
		{"that is there", AuthorizedKey{Key: ann}, ann + " n", ann + " n", ""},
		{"with other options", AuthorizedKey{Key: ann, Options: []string{"restrict"}}, `from="x" ` + ann + " old\n" + bea, "restrict " + ann + " n\n" + bea, "updated the keys"},
		{"that is there twice", AuthorizedKey{Key: ann}, ann + " n\n" + ann + " m\n", ann + " n\n", "updated the keys"},
		{"alone", AuthorizedKey{Key: ann, Exclusive: true}, "# kept\n\n" + bea + "\nwhat is this\n", "# kept\n\n" + ann + " n\n", "updated the keys"},
		{"no longer", AuthorizedKey{Key: ann, Ensure: absent}, bea + "\nrestrict " + ann + "\n" + ann + " n\n", bea + "\n", "removed the key"},
		{"not there", AuthorizedKey{Key: ann, Ensure: absent}, bea + "\n", bea + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := test.key
			k.Name, k.User = "n", "root"
			if k.Ensure == "" {
				k.Ensure = present
			}
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
	const write = " (copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"
	modtest.Validates(t, []modtest.Verdict[AuthorizedKey]{
		{Name: "a key", Of: AuthorizedKey{Key: ann}},
		{Name: "options", Of: AuthorizedKey{Key: ann, Options: []string{"restrict", `from="a,b"`, `command="say \"a b\""`}}},
		{Name: "no key", Of: AuthorizedKey{Key: "ssh-ed25519 AAAA"}, Err: "key: the line has no public key of a known type" + write},
		{Name: "options at the key", Of: AuthorizedKey{Key: "restrict " + ann}, Err: `key: options go before the key (write them into "options")`},
		{Name: "a private key", Of: AuthorizedKey{Key: "-----BEGIN OPENSSH PRIVATE KEY-----"}, Err: "key: this is a private key (it stays where it is: copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name)"},
		{Name: "two options", Of: AuthorizedKey{Key: ann, Options: []string{"restrict,pty"}}, Err: `options[0]: "restrict,pty" is not a valid option: it has a blank or a comma outside of quotes, or a quote that is not closed (write one option, such as from="192.0.2.0/24")`},
		{Name: "an open quote", Of: AuthorizedKey{Key: ann, Options: []string{`from="x`}}, Err: `options[0]: "from=\"x" is not a valid option: it has a blank or a comma outside of quotes, or a quote that is not closed (write one option, such as from="192.0.2.0/24")`},
		{Name: "path", Of: AuthorizedKey{Key: ann, Path: "x"}, Err: "path: file path must be absolute (write a path that begins with /)"},
		{Name: "user", Of: AuthorizedKey{Key: ann, User: "a:b"}, Err: `user: "a:b" is not a valid user name`},
		{Name: "exclusive absence", Of: AuthorizedKey{Key: ann, Ensure: absent, Exclusive: true}, Err: "exclusive: 'exclusive: true' is only valid with 'ensure: present', got 'ensure: absent'"},
	})
}

func TestConverges(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	properties := func(more string) string {
		return fmt.Sprintf(`{"name":"n","user":%q,"key":%q,"path":"$ROOT/keys",%s}`, me.Username, ann, strings.TrimPrefix(more, ","))
	}
	have := modtest.Node{Path: "keys", Text: "# ours\n" + bea + " b\n", Mode: 0o600}
	change := func(have, want string) modules.Change { return modules.Change{Property: "key", Have: have, Want: want} }
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "a key", Tree: []modtest.Node{have}, Properties: properties(`"options":["restrict"]`),
			Action: "added the key", Changes: []modules.Change{change(absent, print(ann))},
		},
		{
			Name: "alone", Tree: []modtest.Node{have}, Properties: properties(`"exclusive":true`),
			Action: "updated the keys", Changes: []modules.Change{change(print(bea), absent), change(absent, print(ann))},
		},
		{Name: "that is there", Tree: []modtest.Node{{Path: "keys", Text: ann + " n\n"}}, Properties: properties(`"ensure":"present"`)},
		{
			Name: "no longer", Tree: []modtest.Node{{Path: "keys", Text: ann + " n\n"}}, Properties: properties(`"ensure":"absent"`),
			Action: "removed the key", Changes: []modules.Change{change(print(ann), absent)},
		},
		{
			Name: "a new file", Properties: properties(`"ensure":"present"`),
			Action: "created the file", Changes: []modules.Change{change(absent, print(ann))},
		},
		{Name: "no file and no key", Properties: properties(`"ensure":"absent"`)},
		{Name: "nobody", Properties: `{"name":"n","user":"no-such-user","key":"` + ann + `"}`, Err: `user "no-such-user": no such account`},
		{Name: "absent of nobody", Properties: `{"name":"n","user":"no-such-user","ensure":"absent","key":"` + ann + `"}`},
	}...)
}

func TestPredicts(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	step := func(more string) modtest.Step {
		return modtest.Step{Type: "authorized_key", Properties: fmt.Sprintf(`{"name":"n","user":%q,"path":"$ROOT/keys",%s}`, me.Username, more)}
	}
	modtest.Predicts(t, modules.Registry{file.Type(), Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			step(`"key":"` + ann + `"`),
			step(`"key":"` + bea + `"`),
			step(`"key":"` + ann + ` n"`),
			step(`"key":"` + ann + `","exclusive":true`),
			step(`"key":"` + bea + `","ensure":"absent"`),
			{Type: "file", Properties: `{"name":"$ROOT/keys","content":"` + ann + ` n\n","mode":"0600"}`},
		},
		Want: []string{"changed", "changed", "stable", "changed", "stable", "stable"},
	})
}

func TestDescribe(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "keys", Text: `restrict,from="a b" ` + ann + "\n"}})
	for key, want := range map[string]string{ann: `"ensure":"present","options":"restrict,from=\"a b\""`, bea: `"ensure":"absent"`} {
		res := modtest.Decode(t, modules.Registry{Type()}, "authorized_key", fmt.Sprintf(`{"name":"n","user":%q,"key":%q,"path":"$ROOT/keys"}`, me.Username, key), root)
		modtest.Describes(t, modtest.Host(), res, fmt.Sprintf(`{"name":"n","user":%q,"path":"%s/keys","fingerprint":%q,%s}`, me.Username, root, print(key), want))
		sources, err := res.(modules.Watcher).Watch(t.Context(), modtest.Host())
		require.NoError(t, err)
		require.Equal(t, []string{root + "/keys", "/etc/passwd"}, sources.Paths)
	}
}

package debconf

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const configuration = `Config: configdb
Templates: templatedb

Name: config
Driver: File
Mode: 644
Reject-Type: password
Backup: false
Filename: $ROOT/var/cache/debconf/config.dat

Name: passwords
Driver: File
Mode: 600
Backup: false
Required: false
Accept-Type: password
Filename: $ROOT/var/cache/debconf/passwords.dat

Name: configdb
Driver: Stack
Stack: config, passwords

Name: templatedb
Driver: File
Mode: 644
Backup: false
Filename: $ROOT/templates/templates.dat
`

// program is a program of debconf in the bin folder of the tree: the one of this machine, with the configuration of the tree.
func program(name string) modtest.Node {
	return modtest.Node{Path: "bin/" + name, Mode: 0o755, Text: "#!/bin/sh\nDEBCONF_SYSTEMRC=${0%/*}/../etc/debconf.conf\nexport DEBCONF_SYSTEMRC\nexec /usr/bin/" + name + " \"$@\"\n"}
}

// tree is a host whose database of debconf has these texts.
func tree(answered, hidden, templates string) []modtest.Node {
	var all []modtest.Node
	for _, dir := range []string{"bin", "etc", "var", "var/cache", "var/cache/debconf", "templates"} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	return append(all, program("debconf-set-selections"), program("debconf-communicate"), modtest.Node{Path: "etc/debconf.conf", Text: configuration},
		modtest.Node{Path: "var/cache/debconf/config.dat", Text: answered, Mode: 0o644}, modtest.Node{Path: "var/cache/debconf/passwords.dat", Text: hidden, Mode: 0o600},
		modtest.Node{Path: "templates/templates.dat", Text: templates, Mode: 0o644})
}

func asked(value, flags string) []modtest.Node {
	text := "Name: app/mode\nTemplate: app/mode\nValue: " + value + "\nOwners: app\n"
	if flags != "" {
		text += "Flags: " + flags + "\n"
	}
	return tree(text+"\n", "", "Name: app/mode\nDescription: mode\nType: string\nOwners: app/mode\n\n")
}

func TestConverges(t *testing.T) {
	needs.Program(t, "debconf-set-selections")
	fixture := func(name string, tree []modtest.Node, properties, action string, changes ...modules.Change) modtest.Fixture {
		return modtest.Fixture{Name: name, Tree: tree, Properties: `{"root":"$ROOT",` + properties + `}`, Action: action, Changes: changes, Opaque: "templates"}
	}
	to := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	const mode, secret = `"name":"app/mode","package":"app"`, `"name":"app/secret","package":"app"`
	hidden := tree("", "Name: app/secret\nTemplate: app/secret\nValue: old one\nOwners: app\nFlags: seen\n\n", "Name: app/secret\nDescription: secret\nType: password\nOwners: app/secret\n\n")
	modtest.Converges(t, modtest.Rooted(Type()),
		fixture("the first answer", tree("", "", ""), mode+`,"type":"string","value":"very  fast, \"so\" $x"`, "answered the question",
			to("ensure", absent, present), to("value", "", `very  fast, "so" $x`), to("seen", "false", "true")),
		fixture("another answer", asked("slow", "seen"), mode+`,"type":"string","value":"fast"`, "answered the question", to("value", "slow", "fast")),
		fixture("answered already", asked("fast", "seen"), mode+`,"type":"string","value":"fast"`, ""),
		fixture("answered, and not seen", asked("fast", ""), mode+`,"type":"string","value":"fast"`, "marked the question as seen", to("seen", "false", "true")),
		fixture("to be asked again", asked("fast", "seen"), mode+`,"type":"string","value":"fast","seen":false`, "marked the question as not seen", to("seen", "true", "false")),
		fixture("a first password", tree("", "", ""), secret+`,"password":"new one"`, "answered the question",
			to("ensure", absent, present), to("password", "another one", "the given password"), to("seen", "false", "true")),
		fixture("another password", hidden, secret+`,"password":"new one"`, "answered the question", to("password", "another one", "the given password")),
		fixture("the password", hidden, secret+`,"password":"old one"`, ""),
		fixture("forgotten", asked("fast", "seen"), mode+`,"ensure":"absent"`, "removed the question", to("ensure", present, absent)),
		fixture("nobody asks anyway", tree("", "", ""), mode+`,"ensure":"absent"`, ""),
		modtest.Fixture{
			Name: "a password as a value", Tree: hidden, Properties: `{"root":"$ROOT",` + secret + `,"type":"string","value":"x"}`,
			Err: `the question app/secret has the type password; write the property "password" instead of "type" and "value"`,
		},
		modtest.Fixture{
			Name: "a value as a password", Tree: asked("fast", "seen"), Properties: `{"root":"$ROOT",` + mode + `,"password":"x"}`,
			Err: `app/mode is not a question of type password; write "type" and "value"`,
		},
	)
}

// TestPredicts uses a sequence of questions.
func TestPredicts(t *testing.T) {
	needs.Program(t, "debconf-set-selections")
	step := func(more string) modtest.Step {
		return modtest.Step{Type: "debconf", Properties: `{"root":"$ROOT","package":"app",` + more + `}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: asked("slow", "seen"),
		Steps: []modtest.Step{
			step(`"name":"app/mode","type":"string","value":"fast"`),
			step(`"name":"app/port","type":"string","value":"80"`),
			step(`"name":"app/mode","type":"string","value":"fast"`),
			step(`"name":"app/mode","ensure":"absent"`),
			step(`"name":"app/port","type":"string","value":"80","seen":false`),
		},
		Want: []string{"changed", "changed", "stable", "changed", "changed"},
	})
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name":"app/mode","package":"app","type":"string"}`:                            "",
		`{"name":"app/mode","package":"app","type":"boolean","value":"true"}`:            "",
		`{"name":"app/mode","package":"app"}`:                                            `type: "type" cannot be empty (write "type" (such as string, boolean or select) and "value", or write "password")`,
		`{"name":"app/mode","package":"app","type":"boolean","value":"yes"}`:             `value: "yes" is neither true nor false, which a boolean is`,
		`{"name":"app/mode","package":"app","type":"string","value":"a\nb"}`:             "value: an answer is one line",
		`{"name":"app/mode","package":"app","type":"string","value":" a"}`:               "value: debconf keeps no blanks around an answer",
		`{"name":"app/mode","package":"app","type":"string","value":"a\\"}`:              "value: debconf cannot store a backslash at the end of a value, or before the letter n",
		`{"name":"a b","package":"app","type":"string"}`:                                 `name: "a b" is not a name of a question`,
		`{"name":"app/mode","package":"-x","type":"string"}`:                             `package: "-x" is not a package name`,
		`{"name":"app/mode","package":"app","password":"x","value":"y","type":"string"}`: "password: 'password' takes the place of 'type' and 'value'",
		`{"name":"app/mode","package":"app","ensure":"absent","value":"y"}`:              "value: 'value' is about a question that is present",
	})
}

// TestSecret searches for a password in places that others can read.
func TestSecret(t *testing.T) {
	needs.Program(t, "debconf-set-selections")
	root := modtest.Root(t)
	modtest.Build(t, root, tree("", "", ""))
	d := &Debconf{Name: "app/secret", Package: "app", Password: "hunter 2", LockTimeout: "2m"}
	h := modtest.RootedHost(root, modtest.Host())
	seen := &arguments{Commands: h.Commands}
	h.Commands, h.Forecast = seen, nothing{}
	plan, err := d.Check(t.Context(), h)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(plan.Changes), "hunter")
	require.NoError(t, d.Apply(t.Context(), h, plan))
	require.Equal(t, []string{"debconf-set-selections"}, seen.argv)
	modtest.Describes(t, h, d, `{"ensure":"present","owners":["app"],"seen":true}`)
	hidden, err := os.ReadFile(root + passwords)
	require.NoError(t, err)
	require.Contains(t, string(hidden), "hunter 2")
	open, err := os.ReadFile(root + answers)
	require.NoError(t, err)
	require.NotContains(t, string(open), "hunter")
}

type arguments struct {
	modules.Commands
	argv []string
}

func (a *arguments) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	a.argv = append(append(a.argv, c.Argv...), c.Env[2:]...)
	return a.Commands.Run(ctx, c)
}

// nothing is a forecast of nothing.
type nothing struct{}

func (nothing) Lookup(modules.EffectKind, string) (any, bool) { return nil, false }

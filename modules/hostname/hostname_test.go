package hostname

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func tree(name, now string, more ...modtest.Node) []modtest.Node {
	all := []modtest.Node{
		{Path: "bin", Dir: true}, {Path: "etc", Dir: true}, {Path: "proc", Dir: true}, {Path: "proc/sys", Dir: true}, {Path: "proc/sys/kernel", Dir: true},
		{Path: "bin/hostname", Mode: 0o755, Text: "#!/bin/sh\necho \"$1\" >\"${0%/*}/../proc/sys/kernel/hostname\"\n"},
		{Path: "proc/sys/kernel/hostname", Text: now + "\n"},
	}
	if name != "" {
		all = append(all, modtest.Node{Path: "etc/hostname", Text: name})
	}
	return append(all, more...)
}

func TestConverges(t *testing.T) {
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	info := modtest.Node{Path: "etc/machine-info", Text: "ICON_NAME=computer\nPRETTY_HOSTNAME='Old one'\n"}
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "another name", Tree: tree("old\n", "old"), Properties: `{"root":"$ROOT","name":"web1"}`,
			Action: "named the host", Changes: []modules.Change{change("name", "old", "web1"), change("name at boot", "old", "web1")},
		},
		{
			Name: "at boot alone", Tree: tree("# ours\nold\nolder\n", "web1"), Properties: `{"root":"$ROOT","name":"web1"}`,
			Action: "named the host", Changes: []modules.Change{change("name at boot", "old", "web1")},
		},
		{
			Name: "a byte order mark, which is read as a part of the name", Tree: tree("\ufeffweb1\r\n", "web1"), Properties: `{"root":"$ROOT","name":"web1"}`,
			Action: "named the host", Changes: []modules.Change{change("name at boot", "web1", "web1"), change("byte order mark", "present", absent)},
		},
		{
			Name: "now alone, and no file", Tree: tree("", "web1"), Properties: `{"root":"$ROOT","name":"x","static":"web1"}`,
			Action: "named the host", Changes: []modules.Change{change("name at boot", absent, "web1")},
		},
		{
			Name: "a pretty one", Tree: tree("web1\n", "web1", info), Properties: `{"root":"$ROOT","name":"web1","pretty":"Say \"$1\""}`,
			Action: "named the host", Changes: []modules.Change{change("pretty", "Old one", `Say "$1"`)},
		},
		{
			Name: "a first pretty one", Tree: tree("old\n", "web1"), Properties: `{"root":"$ROOT","name":"web1","pretty":"Web 1"}`,
			Action: "named the host", Changes: []modules.Change{change("name at boot", "old", "web1"), change("pretty", absent, "Web 1")},
		},
		{Name: "as it shall be", Tree: tree("# ours\n web1", "web1", info), Properties: `{"root":"$ROOT","name":"web1","pretty":"Old one"}`},
		{
			Name: "no program", Tree: []modtest.Node{{Path: "etc", Dir: true}, {Path: "proc", Dir: true}, {Path: "proc/sys", Dir: true}, {Path: "proc/sys/kernel", Dir: true}, {Path: "proc/sys/kernel/hostname", Text: "old"}},
			Properties: `{"root":"$ROOT","name":"web1"}`,
			Err:        "the program hostname is not found in " + modules.DefaultPath + "; install the package hostname",
		},
	}...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "hostname", Properties: `{"root":"$ROOT",` + properties + `}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), file.Type()}, modtest.Scenario{
		Tree: tree("old\n", "old"),
		Steps: []modtest.Step{
			step(`"name":"a"`),
			step(`"name":"a"`),
			step(`"name":"b"`),
			step(`"name":"x","static":"b"`),
			{Type: "file", Properties: `{"name":"$ROOT/etc/hostname","content":"b\n","mode":"0644"}`},
			{Type: "file", Properties: `{"name":"$ROOT/etc/hostname","content":"c\n","mode":"0644"}`},
			step(`"name":"b"`),
		},
		Want: []string{"changed", "stable", "changed", "stable", "stable", "changed", "changed"},
	})
}

func TestValidate(t *testing.T) {
	const wrong = "name: this is not a valid host name (write letters, digits and hyphens, with dots between labels: at most 64 bytes)"
	for name, want := range map[string]string{
		"web1": "", "web-1.example.net": "", "this host": wrong, "-web": wrong, "web.": wrong, "a_b": wrong, "a\nb": wrong,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": wrong,
	} {
		err := (&Hostname{Name: name}).Validate()
		if want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, want, name)
		}
	}
	require.NoError(t, (&Hostname{Name: "this host", Static: "web1"}).Validate())
	require.EqualError(t, (&Hostname{Name: "web1", Static: "a b", Pretty: "x\ny"}).Validate(), "pretty: \"pretty\" must be one line, without NUL bytes\nstatic"+wrong[len("name"):])
}

// TestReversal brings back names that differed, also after another one.
func TestReversal(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree("boots as\n", "is"))
	with := func(name string) modules.Reverser {
		return modtest.In(root, &Hostname{Name: "this", Static: name, Pretty: name})
	}
	modtest.Undone(t, root, with("a"), with("b"))
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, tree("# ours\nboots\n", "is", modtest.Node{Path: "etc/machine-info", Text: "PRETTY_HOSTNAME=\"a \\\"b\\\"\"\n"})), &Hostname{Name: "x"}, `{"ensure":"present","name":"is","static":"boots","pretty":"a \"b\""}`)
}

type warnings struct {
	modules.Discard
	text string
}

func (w *warnings) Message(level, text string) { w.text += level + ": " + text + "\n" }

// TestCommandLine uses a kernel that was started with another name.
func TestCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "",
		"quiet systemd.hostname=web1 ro": "",
		"systemd.hostname=web1 systemd.hostname=db1": "warning: a boot names the host otherwise, because the command line of the kernel has systemd.hostname=db1\n",
	} {
		n, root := Hostname{Name: "web1"}, modtest.Root(t)
		modtest.Build(t, root, tree("web1\n", "web1", modtest.Node{Path: "proc/cmdline", Text: line + "\n"}))
		h, said := modtest.RootedHost(root, modtest.Host()), new(warnings)
		h.Report = said
		_, err := n.Check(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, want, said.text)
	}
}

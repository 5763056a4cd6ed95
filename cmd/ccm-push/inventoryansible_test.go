package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/inventory"
)

// A difference is a command line that is answered in another way than Ansible
// answers it: with other hosts, or with an error.
type difference struct{ hosts, err, why string }

// differences has all differences for a list of hosts, except one rule: if Ansible selects no host and succeeds,
// ccm-push fails, and with --allow-empty it does not.
var differences = map[string]difference{
	`ansible -i inventory/01-fleet.yaml --list-hosts 'web0[1-3]'`: {
		hosts: "web01 web02 web03", why: "[1-3] is a range of names; to Ansible it is a set of characters, behind which more follows",
	},
	`ansible -i inventory/01-fleet.yaml --list-hosts 'web[1-2]'`: {
		err: "pattern \"web[1-2]\": selects no host: \"web[1-2]\" matches no host or group\n  hint: by index it would be web[1:2]",
		why: "the same: it is not an index, as it once was in Ansible",
	},
	`ansible -i inventory/01-fleet.yaml --list-hosts 'web[:2]'`: {hosts: "web01 web02 web03", why: "a slice from the first host on"},
	`ansible -i inventory/01-fleet.yaml --list-hosts 'web[9]'`: {
		err: "pattern \"web[9]\": the index is past the end\n  hint: the pattern matches 4 hosts: use an index from 0 to 3",
		why: "an index that is not there is a mistake",
	},
	`ansible -i inventory/01-fleet.yaml --list-hosts 'web*[4]'`: {
		err: "pattern \"web*[4]\": the index is past the end\n  hint: the pattern matches 4 hosts: use an index from 0 to 3",
		why: "each host counts once, however many groups and names it is found by",
	},
	`ansible -i inventory/01-fleet.yaml --list-hosts localhost`: {
		err: "pattern \"localhost\": selects no host: \"localhost\" matches no host or group\n  hint: this machine is only known if the inventory lists it, or with --allow-implicit-localhost",
		why: "only with --allow-implicit-localhost",
	},
	`ansible -i inventory/01-fleet.yaml --list-hosts ::1`: {
		err: "pattern \"::1\": selects no host: \"::1\" matches no host or group\n  hint: this machine is only known if the inventory lists it, or with --allow-implicit-localhost",
		why: "the same",
	},
}

// A recordedCall is a command line of Ansible and its output.
type recordedCall struct{ command, text string }

func (r recordedCall) failed() bool { return strings.HasPrefix(r.text, "exit status") }

// records reads testdata/ansible/recorded.txtar and goes to its folder.
func records(t *testing.T) []recordedCall {
	t.Helper()
	folder, err := filepath.Abs("testdata/ansible")
	require.NoError(t, err)
	recorded, err := txtar.ParseFile(filepath.Join(folder, "recorded.txtar"))
	require.NoError(t, err)
	require.Greater(t, len(recorded.Files), 200)
	t.Chdir(folder)
	var list []recordedCall
	for _, f := range recorded.Files {
		list = append(list, recordedCall{f.Name, string(f.Data)})
	}
	return list
}

// answerOf returns the output of the same ccm-push command.
func answerOf(t *testing.T, command string, flags ...string) (string, error) {
	t.Helper()
	argv, err := asOurs(command, flags)
	require.NoError(t, err)
	out, _, err := execute(t, nil, argv...)
	require.True(t, err == nil || exitCode(err, new(strings.Builder)) == exit.Usage)
	return out, err
}

// TestInventoryAsAnsible compares the output of ccm-push and Ansible for an inventory that uses every feature, byte for
// byte. TestRecordedAnswers, in e2e, compares the record with Ansible.
func TestInventoryAsAnsible(t *testing.T) {
	n := 0
	for _, r := range records(t) {
		if !strings.HasPrefix(r.command, "ansible-inventory") || strings.Contains(r.command, "types.yaml") {
			continue
		}
		n++
		t.Run(r.command, func(t *testing.T) {
			out, err := answerOf(t, r.command)
			if r.failed() {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, r.text, out)
		})
	}
	require.Greater(t, n, 40)
}

// TestPatternsAsAnsible compares the hosts of patterns, in their order.
func TestPatternsAsAnsible(t *testing.T) {
	found := 0
	for _, r := range records(t) {
		if !strings.HasPrefix(r.command, "ansible ") {
			continue
		}
		t.Run(r.command, func(t *testing.T) {
			out, err := answerOf(t, r.command)
			d, differs := differences[r.command]
			switch {
			case differs && d.err != "":
				require.EqualError(t, err, d.err)
			case differs:
				require.Equal(t, asListed(d.hosts), asListed(out))
				require.NotEqual(t, r.text, asListed(out), "there is no difference any more")
			case r.failed():
				require.Error(t, err)
			case r.text == asListed(""):
				require.ErrorIs(t, err, inventory.ErrNothing)
				out, err = answerOf(t, r.command, "--allow-empty")
				require.NoError(t, err)
				require.Empty(t, out)
			default:
				require.NoError(t, err)
				require.Equal(t, r.text, asListed(out))
			}
			if differs {
				found++
			}
		})
	}
	require.Len(t, differences, found, "a difference has no record")
}

func TestImplicitLocalhostAsAnsible(t *testing.T) {
	for _, r := range records(t) {
		if strings.HasSuffix(r.command, " localhost") || strings.HasSuffix(r.command, " ::1") {
			out, err := answerOf(t, r.command, "--allow-implicit-localhost")
			require.NoError(t, err)
			require.Equal(t, "localhost\n", out, r.command) // Ansible calls it ::1 if the pattern is ::1
		}
	}
}

// asOurs returns the arguments of the same ccm-push command.
func asOurs(command string, more []string) ([]string, error) {
	words, err := shellquote.Split(command)
	if err != nil {
		return nil, err
	}
	flags := append([]string{"--allow-inventory-scripts"}, more...)
	switch words[0] {
	case "ansible":
		return append(flags, words[1:]...), nil
	case "ansible-inventory":
		return slices.Concat([]string{"inventory"}, flags, words[1:]), nil
	}
	return nil, fmt.Errorf("no such tool: %s", words[0])
}

// asListed writes the output of --list-hosts as Ansible does.
func asListed(out string) string {
	hosts := strings.Fields(out)
	text := fmt.Sprintf("  hosts (%d):\n", len(hosts))
	for _, h := range hosts {
		text += "    " + h + "\n"
	}
	return text
}

// TestRecordIsWhole keeps the files that Ansible must not read in the folder of
// the record.
func TestRecordIsWhole(t *testing.T) {
	for _, name := range []string{"notes.txt", "old.bak", ".hidden", "skipped.ini", "05-fleet.yaml~", "group_vars/web/.h.yml", "group_vars/web/x.yml~"} {
		_, err := os.Stat(filepath.Join("testdata/ansible/inventory", name))
		require.NoError(t, err)
	}
	info, err := os.Stat("testdata/ansible/inventory/03-cloud")
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o111)
}

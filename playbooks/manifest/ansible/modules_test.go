package ansible_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	inventoryansible "github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

func TestFind(t *testing.T) {
	for _, name := range []string{"copy", "ansible.builtin.copy", "ansible.legacy.copy"} {
		m, ok := ansible.Find(name)
		require.True(t, ok, name)
		require.Equal(t, `use the type file: write - file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]`, m.Hint())
	}
	for _, name := range []string{"", "copies", "builtin.copy", "a.b.c.copy", "ansible.builtin.", "/etc/motd"} {
		_, ok := ansible.Find(name)
		require.False(t, ok, name)
	}
}

// TestCommonModules checks the modules that playbooks use most: each names a type, or the text to write without one.
func TestCommonModules(t *testing.T) {
	for name, typeName := range map[string]string{
		"file": "file", "command": "exec", "template": "file", "set_fact": "set", "service": "service", "copy": "file", "shell": "exec",
		"stat": "", "package": "package", "systemd": "service", "lineinfile": "line", "apt": "package", "user": "user", "group": "group",
		"get_url": "file", "unarchive": "archive", "blockinfile": "line", "replace": "replace", "ini_file": "ini", "cron": "cron", "dnf": "package", "yum": "package", "git": "git",
		"include_tasks": "apply", "import_role": "apply", "debug": "", "fail": "assert", "assert": "assert", "wait_for": "wait", "uri": "http", "setup": "", "ping": "",
	} {
		m, ok := ansible.Find(name)
		require.True(t, ok, name)
		require.Equal(t, typeName, m.Type, name)
	}
}

// TestHintsCanBeFollowed writes and calls what the hints say.
func TestHintsCanBeFollowed(t *testing.T) {
	for _, name := range ansible.Names() {
		m, _ := ansible.Find(name)
		t.Run(name, func(t *testing.T) {
			if m.Type == "" {
				require.NotEmpty(t, m.Write)
				return
			}
			kind, ok := builtin.Types().Lookup(m.Type)
			require.True(t, ok)
			written, _, _ := strings.Cut(m.Write, "}], ") // a sentence may follow
			written = strings.TrimSuffix(written, "}]") + "}]"
			whole := m.Type != "apply" && !strings.Contains(written, "…") // neither a file nor a key has to be put in its place
			if whole {
				plays, err := load.Parse(context.Background(), "site.yaml", []byte(fmt.Sprintf("ccm:\n  resources:\n    %s\n", written)), builtin.Types())
				require.NoError(t, err)
				require.Empty(t, manifest.Warnings(plays))
				require.Equal(t, m.Type, plays[0].Resources[0].Type.Name)
			}
			if m.AdHoc == "" {
				return
			}
			words := split(t, m.AdHoc)
			require.Equal(t, m.Type, words[0])
			properties, err := kind.Arguments(words[1:])
			require.NoError(t, err)
			if whole && !strings.Contains(m.AdHoc, "MODE") {
				_, err = load.AdHoc("web", kind, "", properties)
				require.NoError(t, err)
			}
		})
	}
}

func split(t *testing.T, line string) (texts []string) {
	words, _, problem := inventoryansible.SplitWords(line)
	require.Empty(t, problem)
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	return texts
}

package start

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSudoersEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"a b":                "a b",
		`,:=\#*?[]!"`:        `\,\:\=\\\#\*\?\[\]\!\"`,
		"${b#*:}; $# <$t 2>": `${b\#\*\:}; $\# <$t 2>`,
	} {
		require.Equal(t, want, sudoersEscaped(text))
	}
}

func TestSudoersRule(t *testing.T) {
	rule, err := SudoersRule("deploy", &Become{User: "app"})
	require.NoError(t, err)
	require.Equal(t, "deploy ALL=(app) NOPASSWD: /bin/sh -c "+sudoersEscaped(script)+" sh *", rule)
	for _, test := range []struct {
		login  string
		become Become
		err    string
	}{
		{"deploy", Become{Method: "su"}, "it becomes root with su, not with sudo"},
		{"root", Become{}, "it logs in as root, who needs no rule to be root"},
		{"%wheel", Become{}, `the user "%wheel" cannot stand in sudoers as it is`},
		{"+netgroup", Become{}, `the user "+netgroup" cannot stand in sudoers as it is`},
		{"#0", Become{}, `the user "#0" cannot stand in sudoers as it is`},
		{"ALL", Become{}, `the user "ALL" cannot stand in sudoers as it is`},
		{"a ALL=ALL\nb", Become{}, `the user "a ALL=ALL\nb" cannot stand in sudoers as it is`},
		{"deploy", Become{User: "ADMINS"}, `the user "ADMINS" cannot stand in sudoers as it is`},
	} {
		_, err := SudoersRule(test.login, &test.become)
		require.EqualError(t, err, test.err)
	}
}

// TestVisudo has visudo(8) read the rule. What sudo makes of it is tested in e2e.
func TestVisudo(t *testing.T) {
	visudo, err := exec.LookPath("visudo")
	if err != nil {
		if visudo = "/usr/sbin/visudo"; !exists(visudo) {
			t.Skip("NOT TESTED: there is no visudo")
		}
	}
	rule, err := SudoersRule("deploy", &Become{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rule")
	require.NoError(t, os.WriteFile(path, []byte(rule+"\n"), 0o440))
	out, err := exec.Command(visudo, "-c", "-s", "-f", path).CombinedOutput()
	require.NoError(t, err, string(out))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

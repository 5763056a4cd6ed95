package exec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestReadPaths(t *testing.T) {
	for _, c := range []struct {
		argv, want []string
	}{
		{[]string{"grep", "-qx", "1.4.0/2", "/var/lib/app/schema"}, []string{"/var/lib/app/schema"}},
		{[]string{"/usr/bin/test", "!", "-e", "/srv/a", "-a", "-d", "/srv//b/"}, []string{"/srv/a", "/srv/b"}},
		{[]string{"[", "-f", "/srv/a", "]"}, []string{"/srv/a"}},
		{[]string{"cmp", "/srv/a", "/srv/b"}, []string{"/srv/a", "/srv/b"}},
		{[]string{"grep", "x"}, nil},
		{[]string{"grep", "-e", "x", "/srv/a"}, nil},
		{[]string{"grep", "--file=/srv/p", "/srv/a"}, nil},
		{[]string{"test", "-f", "schema"}, nil},
		{[]string{"test", "a", "=", "b"}, nil},
		{[]string{"psql", "-f", "/srv/a"}, nil},
		{nil, nil},
	} {
		require.Equal(t, c.want, readPaths(c.argv), "%q", c.argv)
	}
}

// TestAliases has mail servers that name their database of aliases in different ways.
func TestAliases(t *testing.T) {
	unknown := modules.Affects{"/etc/aliases.db"}.Effects()
	for said, want := range map[string][]modules.Effect{
		"hash:/etc/aliases":                    modules.Differ("", "/etc/aliases.db"),
		"lmdb:/etc/mail/a":                     modules.Differ("", "/etc/mail/a.lmdb"),
		"hash:$config_directory/aliases":       unknown,
		"hash:/etc/aliases, hash:/srv/aliases": unknown,
		"mysql:/etc/aliases":                   unknown,
		"":                                     unknown,
	} {
		root := t.TempDir()
		modtest.Build(t, root, []modtest.Node{
			{Path: "usr", Dir: true}, {Path: "usr/bin", Dir: true}, {Path: "usr/bin/postconf", Text: "#!/bin/sh\necho '" + said + "'\n", Mode: 0o755},
		})
		require.Equal(t, want, effectsOf(t.Context(), modtest.RootedHost(root, modtest.Host()), "newaliases", ""), said)
	}
	require.Equal(t, unknown, effectsOf(t.Context(), modtest.RootedHost(t.TempDir(), modtest.Host()), "newaliases", ""), "no Postfix")
}

// TestKnowns runs the rule of each known command, also without arguments.
func TestKnowns(t *testing.T) {
	for _, k := range knowns {
		require.NotEqual(t, modules.Affects(nil).Effects(), effectsOf(t.Context(), modtest.RootedHost(t.TempDir(), modtest.Host()), "/usr/sbin/"+strings.Join(k.words, " "), ""), k.words)
	}
}

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
)

func newRoot() *cobra.Command {
	return newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil)).root()
}

// walk calls a function for each command that people can run, and for the root.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	if c.Runnable() && !c.Hidden && c.Name() != "help" {
		visit(c)
	}
	for _, sub := range c.Commands() {
		walk(sub, visit)
	}
}

func TestHelpIsTwoScreens(t *testing.T) {
	for _, argv := range [][]string{{"--help"}, {"help"}, nil} {
		out, _, err := execute(t, nil, argv...)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 50)
		for _, line := range lines {
			require.LessOrEqual(t, len(line), 80, line)
		}
		for _, c := range newRoot().Commands() {
			if c.Runnable() && !c.Hidden {
				require.Regexp(t, `(?m)^  [A-Z].*\s`+c.Name()+`\b`, out, "each command is in a group")
			}
		}
		for _, part := range []string{"MANIFEST...", "PATTERN TYPE ARGUMENT...", "--check", "--limit", "ccm-push help flags", "exit-status"} {
			require.Contains(t, out, part)
		}
		require.NotContains(t, out, "--nats")
	}
}

func TestHelpCommands(t *testing.T) {
	out, _, err := execute(t, nil, "help", "commands")
	require.NoError(t, err)
	for _, c := range newRoot().Commands() {
		if c.Runnable() && !c.Hidden {
			require.Contains(t, out, c.Short)
		}
	}
}

// TestHelpFlags requires each shared flag once, below the title of its group.
func TestHelpFlags(t *testing.T) {
	out, _, err := execute(t, nil, "help", "flags")
	require.NoError(t, err)
	newRoot().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		require.Regexp(t, `(?m)^  (-.,|   ) --`+f.Name+`\b`, out)
	})
	group := func(title string) string {
		_, rest, found := strings.Cut(out, "\n"+title+":\n")
		require.True(t, found, title)
		text, _, _ := strings.Cut(rest, "\n\n")
		return text
	}
	for title, flags := range map[string]string{
		"Hosts": "inventory limit list-hosts", "Connection": "user become private-key", "NATS": "nats nats-creds registration",
		"Workers and relays": "workers cert-validity ca-key", "Rollout": "rollout canary hold", "Output": "output report",
	} {
		for _, name := range list(flags) {
			require.Contains(t, group(title), " --"+name+" ", title)
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	walk(newRoot(), func(c *cobra.Command) {
		require.Regexp(t, `\b`+strings.ReplaceAll(c.CommandPath(), " ", " (.* )?")+`\b`, c.Example, "%s has no example of its own", c.CommandPath())
		for line := range strings.Lines(c.Example) {
			require.True(t, strings.HasPrefix(line, "  "), "%s: examples are indented: %q", c.CommandPath(), line)
		}
		require.LessOrEqual(t, len(c.Short), 80, c.Short)
	})
}

// TestWrongWords misspells each command, each shared flag, and the words of commands that take one of a few.
func TestWrongWords(t *testing.T) {
	misspelled := func(name string) string { return name[1:2] + name[:1] + name[2:] }
	fails := func(want string, argv ...string) {
		t.Helper()
		out, _, err := execute(t, nil, argv...)
		require.ErrorContains(t, err, want, "%q", argv)
		require.Empty(t, out)
	}
	walk(newRoot(), func(c *cobra.Command) {
		if c.HasParent() && len(c.Name()) > 3 {
			words := list(c.CommandPath())[1:]
			words[len(words)-1] = misspelled(c.Name())
			fails("did you mean "+c.CommandPath()+"?", words...)
			fails("did you mean "+c.CommandPath()+"?", append([]string{"help"}, words...)...)
		}
	})
	newRoot().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if len(f.Name) > 5 && misspelled(f.Name) != f.Name {
			fails("did you mean --", "--"+misspelled(f.Name), "site.yaml")
		}
	})
	for _, test := range []struct{ argv, want string }{
		{"aply site.yaml", `"aply" is not a command or a manifest; did you mean ccm-push site.yaml?`},
		{"apply site.yaml", `"apply" is not a command or a manifest; did you mean ccm-push site.yaml?`},
		{"deploy", `"deploy" is not a command or a manifest; see ccm-push --help`},
		{"--limt web site.yaml", `unknown flag: --limt; did you mean --limit?`},
		{"facts --limt web all", `unknown flag: --limt; did you mean --limit?`},
		{"trust --fingerprint f web", `unknown flag: --fingerprint; did you mean --fingerprints?`},
		{"runs show --hots web1 last", `unknown flag: --hots; did you mean --host?`},
		{"runs nothing", `ccm-push runs has no command "nothing"; use diff, prune, report or show`},
		{"watch relese last web1", `did you mean ccm-push watch release?`},
		{"inventory lnt", `did you mean ccm-push inventory lint?`},
		{"new projct fleet", `new does not write "projct"; did you mean "project"?`},
		{"schema manifst", `unknown schema "manifst"; did you mean "manifest"?`},
		{"completion bahs", `unknown shell "bahs"; did you mean "bash"?`},
		{"help flgs", `unknown command or topic "flgs"; did you mean ccm-push help flags?`},
	} {
		fails(test.want, list(test.argv)...)
	}
}

func TestTopicsAreCompleted(t *testing.T) {
	out, _, err := execute(t, nil, "__complete", "help", "f")
	require.NoError(t, err)
	for _, name := range []string{"flags", "files", "facts"} {
		require.True(t, slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return strings.HasPrefix(line, name+"\t") }), name)
	}
}

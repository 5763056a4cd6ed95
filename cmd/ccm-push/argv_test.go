package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
)

func TestSplitArguments(t *testing.T) {
	for _, test := range []struct {
		name string
		argv string // separated by blanks
		want words
	}{
		{"nothing", "", words{}},
		{"a manifest", "site.yaml", words{args: list("site.yaml")}},
		{"manifests", "a.yaml b.yaml", words{args: list("a.yaml b.yaml")}},
		{"flags before", "-i hosts.yaml --check site.yaml", words{flags: list("-i hosts.yaml --check"), args: list("site.yaml")}},
		{"flags after", "site.yaml --check -i hosts.yaml", words{flags: list("--check -i hosts.yaml"), args: list("site.yaml")}},
		{"flags between", "a.yaml -v b.yaml", words{flags: list("-v"), args: list("a.yaml b.yaml")}},
		{"short flags together", "-vi hosts.yaml site.yaml", words{flags: list("-vi hosts.yaml"), args: list("site.yaml")}},
		{"a value in the word", "-ihosts.yaml site.yaml", words{flags: list("-ihosts.yaml"), args: list("site.yaml")}},
		{"a value after =", "--limit=web -f=3 site.yaml", words{flags: list("--limit=web -f=3"), args: list("site.yaml")}},
		{"a value with =", "-e a=b site.yaml", words{flags: list("-e a=b"), args: list("site.yaml")}},
		{"another name of a flag", "--key-file id site.yaml", words{flags: list("--key-file id"), args: list("site.yaml")}},
		{"a value that looks like a flag", "--limit -v site.yaml", words{flags: list("--limit -v"), args: list("site.yaml")}},
		{"no value left", "site.yaml -i", words{flags: list("-i"), cut: true, args: list("site.yaml")}},
		{"unknown flags take no value", "--what -z site.yaml", words{flags: list("--what -z"), args: list("site.yaml")}},
		{"flags that are no ASCII", "-é x", words{flags: list("-é"), args: list("x")}},
		{"standard input", "-", words{args: list("-")}},

		{"ad hoc", "web exec id", words{args: list("web"), adHoc: "exec", rest: list("id")}},
		{"the resource's words look like flags", "web exec ls -la --check", words{args: list("web"), adHoc: "exec", rest: list("ls -la --check")}},
		{"the resource's words have --", "web exec -- -x", words{args: list("web"), adHoc: "exec", rest: list("-x")}},
		{"no words", "web file", words{args: list("web"), adHoc: "file", rest: []string{}}},
		{"flags before the type", "-b web -v exec id", words{flags: list("-b -v"), args: list("web"), adHoc: "exec", rest: list("id")}},
		{"a pattern named like a type", "exec exec id", words{args: list("exec"), adHoc: "exec", rest: list("id")}},
		{"a limit equal to the pattern", "-l web web exec id", words{flags: list("-l web"), args: list("web"), adHoc: "exec", rest: list("id")}},
		{"a limit named like a type", "-l exec web exec id", words{flags: list("-l exec"), args: list("web"), adHoc: "exec", rest: list("id")}},
		{"a limit named like a type, after the pattern", "web -l exec file /x", words{flags: list("-l exec"), args: list("web"), adHoc: "file", rest: list("/x")}},
		{"a third word is no type", "a b exec", words{args: list("a b exec")}},

		{"a subcommand", "facts web -v", words{args: list("facts web -v"), command: true}},
		{"flags before a subcommand", "-i hosts.yaml facts web", words{flags: list("-i hosts.yaml"), args: list("facts web"), command: true}},
		{"a pattern after a subcommand", "facts exec", words{args: list("facts exec"), command: true}},
		{"a pattern named like a subcommand", "-- facts exec id", words{args: list("facts"), forced: true, adHoc: "exec", rest: list("id")}},
		{"a subcommand as a value", "-l facts site.yaml", words{flags: list("-l facts"), args: list("site.yaml")}},
		{"a pattern with a dash", "-v -- -web exec id", words{flags: list("-v"), args: list("-web"), forced: true, adHoc: "exec", rest: list("id")}},
		{"-- after the pattern", "web -- exec id", words{args: list("web"), adHoc: "exec", rest: list("id")}},
		{"no flags after --", "a.yaml -- -v", words{args: list("a.yaml -v")}},
		{"-- twice", "-- -- exec id", words{args: list("--"), forced: true, adHoc: "exec", rest: list("id")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, split(list(test.argv)))
		})
	}
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Fields(text)
}

func split(argv []string) words {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetNormalizeFunc(flags.Alias)
	new(flags.All).Register(set)
	isCommand := func(s string) bool { return s == "facts" || s == "version" }
	isType := func(s string) bool { return s == "exec" || s == "file" }
	return splitArguments(argv, set, isCommand, isType)
}

// FuzzSplitArguments checks that no word is lost or made up: only -- and the
// type are not in any of the lists.
func FuzzSplitArguments(f *testing.F) {
	f.Add("-vi hosts.yaml -- web exec ls -la")
	f.Add("-l exec facts web -v")
	f.Add("a.yaml -- -v -- -e")
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Fields(line)
		w := split(argv)
		got := slices.Concat(w.flags, w.args, w.rest)
		if w.adHoc != "" {
			got = append(got, w.adHoc)
		}
		if len(got)+1 == len(argv) {
			got = append(got, "--")
		}
		require.ElementsMatch(t, argv, got)
	})
}

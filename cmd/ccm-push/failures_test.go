package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

const failuresPage = "../../docs/reference/failures.md"

// TestFailures provokes the failures that users meet most, and compares what ccm-push prints
// with docs/reference/failures.md. Each script of testdata/failures has a part of that page in
// page.md, where {NAME} is the place of a command that the script runs by `shows NAME`.
// -update writes the page.
func TestFailures(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/failures/*.txtar")
	require.NoError(t, err)
	parts := make([]string, len(scripts))
	t.Run("scripts", func(t *testing.T) {
		params := scriptParams(t)
		params.Dir, params.ContinueOnError = "testdata/failures", true
		params.Cmds["shows"] = shows
		root := params.Condition
		params.Condition = func(name string) (bool, error) {
			switch name {
			case "apt-lists":
				lists, err := filepath.Glob("/var/lib/apt/lists/*_Packages*")
				return len(lists) > 0, err
			case "useradd":
				_, err := os.Stat("/usr/sbin/useradd")
				return err == nil, nil
			}
			return root(name)
		}
		setup := params.Setup
		params.Setup = func(env *testscript.Env) error {
			i := slices.IndexFunc(scripts, func(path string) bool {
				return strings.HasSuffix(env.WorkDir, "script-"+strings.TrimSuffix(filepath.Base(path), ".txtar"))
			})
			page := filepath.Join(env.WorkDir, "page.md")
			env.Defer(func() {
				text, err := os.ReadFile(page)
				if err != nil {
					env.T().Fatal(err)
				}
				if !placeInPage.Match(text) {
					parts[i] = string(text)
				}
			})
			return setup(env)
		}
		testscript.Run(t, params)
	})
	if t.Failed() {
		return
	}
	const how = "as an ordinary user: go test -run TestFailures ./cmd/ccm-push -update"
	page := strings.Join(parts, "\n")
	whole := !slices.Contains(parts, "") // no script was skipped
	if *update && !whole {
		t.Skipf("NOT TESTED: the page is not written, because a script was skipped: %s", how)
	}
	if *update {
		require.NoError(t, os.WriteFile(failuresPage, []byte(page), 0o644))
	}
	want, err := os.ReadFile(failuresPage)
	require.NoError(t, err)
	for _, part := range parts {
		for block := range strings.SplitSeq(part, "\n### ") {
			require.True(t, strings.Contains(string(want), block), "docs/reference/failures.md does not have this; %s:\n%s", how, block)
		}
	}
	require.True(t, !whole || string(want) == page, "docs/reference/failures.md has more than is printed, or in another order; %s", how)
	require.GreaterOrEqual(t, strings.Count(string(want), "\n### "), 60)
}

var placeInPage = regexp.MustCompile(`(?m)^\{[a-z0-9-]+\}$`)

// inPage has texts that differ from run to run, or from machine to machine, and their form in the page.
var inPage = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\[127\.0\.0\.1\]:\d+`), `192.0.2.10`},
	{regexp.MustCompile(`127\.0\.0\.1:\d\d+`), `192.0.2.10:22`},
	{regexp.MustCompile(`ssh -p \d+ (\w+)@127\.0\.0\.1`), `ssh $1@192.0.2.10`},
	{regexp.MustCompile(`SHA256:[A-Za-z0-9+/]+`), `SHA256:9Xw…`},
	{regexp.MustCompile(`\b01[0-9A-Z]{24}\b`), `01K…`},
	{regexp.MustCompile(`\w+@[\w.-]+ \(pid \d+\), `), `ann@laptop (pid 4711), `},
	{regexp.MustCompile(`fetched \d+ \w+ ago`), `fetched 2 days ago`},
	{regexp.MustCompile(`user \d+ may`), `user 1000 may`},
	{regexp.MustCompile(`(?m)for [0-9.]+m?s$`), `for 3m14s`},
	{regexp.MustCompile(`after [0-9.]+m?s;`), `after 1s;`},
	{regexp.MustCompile(`(?m)^== .*\n`), ``},
	{regexp.MustCompile(`(?s)\n\S+: \d+ changed, .*`), "\n"}, // the recap
	{regexp.MustCompile(`\n\n`), "\n"},
}

// shows runs a command that must end with the given status, not 0, and adds it and its output to the page: shows NAME
// STATUS COMMAND...
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: shows NAME STATUS ccm-push ARGUMENT...")
	}
	err := ts.Exec(args[2], args[3:]...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("it has not failed: %v", err)
	}
	if got := strconv.Itoa(exit.ExitCode()); got != args[1] {
		ts.Fatalf("exit status %s, want %s", got, args[1])
	}
	text := "\n" + ts.ReadFile("stdout") + ts.ReadFile("stderr")
	text = strings.NewReplacer(ts.Getenv("WORK")+"/operator", "~", ts.Getenv("WORK"), "/srv").Replace(text)
	for _, p := range inPage {
		text = p.pattern.ReplaceAllString(text, p.text)
	}
	var command []string
	for i, arg := range args[2:] {
		if arg == "hosts.yaml" || arg == "-i" && args[2+i+1] == "hosts.yaml" {
			continue
		}
		if strings.ContainsAny(arg, " {}*!$'\"") || arg == "" {
			arg = "'" + arg + "'"
		}
		command = append(command, arg)
	}
	file, place := filepath.Join(ts.Getenv("WORK"), "page.md"), "\n{"+args[0]+"}\n"
	page := ts.ReadFile(file)
	if strings.Count(page, place) != 1 {
		ts.Fatalf("page.md has not one place {%s}", args[0])
	}
	block := fmt.Sprintf("\n\n```\n$ %s\n%s\n```\n", strings.Join(command, " "), strings.Trim(text, "\n"))
	ts.Check(os.WriteFile(file, []byte(strings.Replace(page, place, block, 1)), 0o644))
}

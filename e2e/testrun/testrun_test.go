package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write makes a file below dir, and its folder.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// TestGoTest runs the real go test on tests that pass, fail, skip, panic and do not compile.
func TestGoTest(t *testing.T) {
	program := filepath.Join(t.TempDir(), "testrun")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example\n\ngo 1.24\n")
	write(t, dir, "good/good_test.go", `package good

import "testing"

func TestGood(t *testing.T)  { t.Log("quiet") }
func TestLacks(t *testing.T) { t.Skip("NOT TESTED: this machine has no crontab") }
func TestScripts(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Skip("NOT TESTED: this machine has no crontab") })
	t.Run("two", func(t *testing.T) {})
}
`)
	write(t, dir, "bad/bad_test.go", `package bad

import "testing"

func TestBad(t *testing.T)  { t.Run("part", func(t *testing.T) { t.Error("it is bad") }) }
func TestGood(t *testing.T) { t.Log("quiet") }
func TestScripts(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Fail() })
	t.Run("two", func(t *testing.T) {})
}
`)
	write(t, dir, "panics/panics_test.go", "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"now\") }\n")
	write(t, dir, "wrong/wrong_test.go", "package wrong\n\nfunc nothing() { return 1 }\n")
	results := filepath.Join(dir, "results")
	goTest := func(args ...string) (said string, code int) {
		cmd := exec.Command(program, append([]string{"go", "test", "-count=1", "-p=1"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CCM_RESULTS="+results, "GOFLAGS=-trimpath")
		out, _ := cmd.CombinedOutput()
		said = regexp.MustCompile(`\d+\.\d+s`).ReplaceAllString(string(out), "TIME")
		said, ok := strings.CutSuffix(regexp.MustCompile(`\b\d+ s\b`).ReplaceAllString(said, "TIME"), "processor time: TIME (user TIME, system TIME)\n")
		require.True(t, ok, said)
		return said, cmd.ProcessState.ExitCode()
	}

	said, code := goTest("./good")
	require.Equal(t, "ok  \texample/good\tTIME\nNOT TESTED: this machine has no crontab: good.TestLacks good.TestScripts/one\n", said)
	require.Zero(t, code)
	said, _ = goTest("-v", "./good")
	require.Contains(t, said, "quiet")

	said, code = goTest("./bad", "./panics", "./wrong")
	require.Equal(t, 1, code)
	require.Contains(t, said, "bad_test.go:5: it is bad\n")
	require.Contains(t, said, "--- FAIL: TestBad/part")
	require.Contains(t, said, "FAIL\texample/bad\tTIME\n")
	require.Contains(t, said, "panic: now")
	require.Contains(t, said, "wrong_test.go:3:25: too many return values")
	require.NotContains(t, said, "quiet")

	text, err := os.ReadFile(results)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Equal(t, []string{
		"lacks example/good TestLacks", "lacks example/good TestScripts/one",
		"lacks example/good TestLacks", "lacks example/good TestScripts/one",
		"fail example/bad TestBad", "fail example/bad TestScripts/one",
		"broken example/panics", "fail example/panics TestPanics", "broken example/wrong",
	}, lines)
	require.Equal(t, []string{"example/good ^TestLacks$|^TestScripts$/^one$"}, again(string(text), nil))
	require.Empty(t, again(string(text), []string{"example/good"}))
}

func TestTouched(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=ann", "-c", "user.email=ann@example.net", "-c", "commit.gpgSign=false"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	const first = "package a\n\nimport \"testing\"\n\nfunc help() {}\n\n// TestOne is one.\nfunc TestOne(t *testing.T) {\n\thelp()\n}\n\nfunc TestTwo(t *testing.T) {\n\thelp()\n}\n"
	git("init", "-q")
	write(t, dir, "a/a_test.go", first)
	write(t, dir, "b/b_test.go", first)
	write(t, dir, "c/c_test.go", first)
	write(t, dir, "cmd/x/testdata/script/run.txtar", "one\n")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	write(t, dir, "a/a_test.go", strings.Replace(first, "One(t *testing.T) {\n", "One(t *testing.T) {\n\thelp()\n", 1))
	write(t, dir, "b/b_test.go", strings.Replace(first, "help() {}", "help() { println() }", 1))
	require.NoError(t, os.Remove(filepath.Join(dir, "c/c_test.go")))
	write(t, dir, "cmd/x/testdata/script/run.txtar", "two\n")
	git("add", ".")
	git("commit", "-q", "-m", "two")
	lines, err := touched(dir, "HEAD~1")
	require.NoError(t, err)
	require.Equal(t, []string{"./a ^TestOne$", "./b ^TestOne$|^TestTwo$", "./cmd/x ^TestScripts$/^run$"}, lines)
}

func TestFlaky(t *testing.T) {
	now := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	five := strings.Repeat("TestA 2026-02-01 a port is taken\n", 5)
	for _, test := range []struct{ text, want string }{
		{"# none\n\n", ""},
		{five, ""},
		{five + "TestB 2026-02-02 slow\n", "list: 6 tests are flaky, and the limit is 5: repair one"},
		{"\nTestA 2026-01-30 slow\n", "list:2: TestA is flaky since 2026-01-30: repair the test, or remove it"},
		{"TestA 2026-2-1 slow\n", `list:1: "2026-2-1" is not a date such as 2026-01-31`},
		{"TestA 2026-02-01\n", `list:1: write TEST DATE CAUSE, not "TestA 2026-02-01"`},
		{"a 2026-02-01 slow\n", `list:1: write TEST DATE CAUSE, not "a 2026-02-01 slow"`},
	} {
		err := flaky("list", test.text, now)
		if test.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.want)
		}
	}
}

package events_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func shownDiff(diff string, o events.TextOptions) string {
	var out bytes.Buffer
	o.Diff = true
	t := events.NewText(&out, o)
	r := file("web1", "/a", events.Changed, "content")
	r.Diff, r.Run = diff, "r1"
	t.Report(events.RunStart{Stamp: events.Stamp{Run: "r1"}, Hosts: 1})
	t.Report(r)
	_, below, _ := strings.Cut(out.String(), "\n")
	return below
}

func TestDiffStat(t *testing.T) {
	for _, test := range []struct{ diff, want string }{
		{"--- /a\n+++ /a\n@@ -1,2 +1,3 @@\n x\n-y\n+z\n+z\n", "/a: +2 -1"},
		{"--- /a\n+++ /a\n@@ -1 +1 @@\n--- gone\n+++ new\n\\ No newline at end of file\n", "/a: +1 -1"},
		{"--- /a\n+++ /a\n@@ -1 +1,2 @@\n x\n+y\n@@ -9 +10,0 @@\n-z\n--- /b\n+++ /b\n@@ -0,0 +1 @@\n+y\n", "/a: +1 -1\n/b: +1 -0"},
		{"/a: binary, 1.5 KiB -> 5 bytes, sha256 a… -> b…\n", "/a: binary, 1.5 KiB -> 5 bytes, sha256 a… -> b…"},
		{"no diff: the current text is unreadable: x\n", "no diff: the current text is unreadable: x"},
		{"@@\n@@ x y @@\n+a", "@@"},
	} {
		want := "    " + strings.ReplaceAll(test.want, "\n", "\n    ") + "\n"
		require.Equal(t, want, shownDiff(test.diff, events.TextOptions{DiffStat: true}))
	}
}

// TestWordsOfDiffs checks that changed words within lines are marked in colour output.
func TestWordsOfDiffs(t *testing.T) {
	diff := "--- /a\n+++ /a\n@@ -1,9 +1,10 @@\n" +
		" same\n" +
		"-listen 80 on web1.example.org;\n-- old\n" +
		"+listen 8080 on web2.example.org;\n+- old and \x1b[2Jnew\n" +
		" same\n" +
		"-one\n+two three\n" + // nothing is shared
		" same\n" +
		"-not a pair\n+not a\n+pair\n" + // one and two
		" same\n" +
		"-tail  x\n\\ No newline at end of file\n+tail x\n" +
		"--- /b\n+++ /b\n@@ -1 +1 @@\n--- a b\n+++ a c\n"
	golden(t, "diffwords-plain.txt", []byte(shownDiff(diff, events.TextOptions{})))
	golden(t, "diffwords-color.txt", []byte(shownDiff(diff, events.TextOptions{Color: true})))
}

// TestFoldedWords checks that names of hosts are found in marked words.
func TestFoldedWords(t *testing.T) {
	s := foldedFleet(1, 20, func(_ int, host string) []events.Event {
		r := file(host, "/etc/app.conf", events.Changed, "content")
		r.Diff = "--- /etc/app.conf\n+++ /etc/app.conf\n@@ -1 +1 @@\n-server old.example.org\n+server " + host + ".example.org\n"
		return []events.Event{r}
	})
	plain, colored := folded(s, events.TextOptions{Diff: true}), folded(s, events.TextOptions{Diff: true, Color: true})
	require.Contains(t, plain, "+server {host}.example.org\n")
	require.Contains(t, colored, "\x1b[32;7m{host}.example.org\x1b[0m\n")
	require.Equal(t, strings.Count(plain, "\n"), strings.Count(colored, "\n"))
}

func TestLongDiff(t *testing.T) {
	diff := "--- /a\n+++ /a\n@@ -0,0 +1,1000 @@\n" + strings.Repeat("+x\n", 1000)
	require.Equal(t, 201, strings.Count(shownDiff(diff, events.TextOptions{}), "\n"))
	require.Contains(t, shownDiff(diff, events.TextOptions{}), "    … 803 more lines (-v shows all)\n")
	require.Contains(t, shownDiff(diff, events.TextOptions{Recorded: true}), "    … 803 more lines (all: ccm-push runs show r1 --diff -v --host web1)\n")
	require.NotContains(t, shownDiff(diff, events.TextOptions{Verbose: 1}), "more lines")
}

// sgr is a sequence that paints what follows it.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]+m")

// FuzzDiffStat is about whatever a host sends as a diff.
func FuzzDiffStat(f *testing.F) {
	f.Add("--- a\n+++ a\n@@ -1,2 +3,4 @@\n+x\n")
	f.Add("@@ -1,2 +1,2 @@\n-a b\xff\n\\\n-\n+a\x1bc\n+\n")
	f.Add("@@ -1,-5 +1,99999999999999999999 @@\n")
	f.Fuzz(func(t *testing.T, diff string) {
		require.LessOrEqual(t, strings.Count(shownDiff(diff, events.TextOptions{DiffStat: true}), "\n"), 2+strings.Count(diff, "\n"))
		marked := shownDiff(diff, events.TextOptions{Color: true, Verbose: 1})
		require.Equal(t, shownDiff(diff, events.TextOptions{Verbose: 1}), sgr.ReplaceAllString(marked, ""))
	})
}

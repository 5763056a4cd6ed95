package sealed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// asking returns a ring that calls ask instead of programs.
func asking(ask func(argv []string, timeout time.Duration) (string, error)) *sealed.Ring {
	return &sealed.Ring{Schemes: []sealed.Scheme{&sealed.Programs{Ask: ask}}}
}

func TestProgramIsAskedOnce(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	r := asking(func(argv []string, timeout time.Duration) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.Join(argv, "|")+" "+timeout.String())
		return "hunter2-hunter2", nil
	})
	root := parse(t, "a: {secret: {cmd: [get, x y]}}\nb: {secret: {cmd: [get, x y]}}\nc: {secret: {cmd: [./get, x], timeout: 5}}\n"+
		"d: {secret: {other: 1}}\ne: {secret: {cmd: [x]}, more: 1}\n", r)
	require.Equal(t, map[string]any{"secret": map[string]any{"other": int64(1)}}, root.Get("d").Any())
	require.Nil(t, root.Get("e").Sealed, "what has other keys beside it is data")
	require.Empty(t, asked)
	nodes := []*yamlpos.Node{root.Get("a"), root.Get("b"), root.Get("c")}
	yamlpos.OpenAll(nodes)
	for _, n := range nodes {
		require.True(t, n.Secret)
		text, err := n.Open()
		require.NoError(t, err)
		require.Equal(t, "hunter2-hunter2", text)
	}
	require.ElementsMatch(t, []string{"get|x y 30s", "./get|x 5s"}, asked)
}

func TestProgramErrors(t *testing.T) {
	r := asking(func([]string, time.Duration) (string, error) { return "", errors.New("exit status 3") })
	_, err := parse(t, "a: {secret: {cmd: [get]}}", r).Get("a").Open()
	require.EqualError(t, err, "f.yaml:1:4: the program \"get\" returned no secret: exit status 3\n  hint: run the program in a terminal; it must print only the secret, and exit with status 0")
	for text, want := range map[string]string{
		"a: {secret: {cmd: get x}}":                  `f.yaml:1:19: "cmd" must be a list of words, not the text "get x"`,
		"a: {secret: {cmd: [get, [x]]}}":             `f.yaml:1:25: a word of "cmd" must be a text, not a list`,
		"a: {secret: {cmd: [get, !secret hunter2]}}": `f.yaml:1:25: a word of "cmd" cannot be a secret`,
		"a: {secret: {cmd: [get], timeout: 11m}}":    `f.yaml:1:35: "timeout" must be more than 0, and at most 10m0s`,
		"a: {secret: {cmd: [get], timeout: 0}}":      `f.yaml:1:35: "timeout" must be more than 0, and at most 10m0s`,
	} {
		_, err := yamlpos.Parse("f.yaml", []byte(text), yamlpos.Secrets(), yamlpos.KeepSealed(r))
		require.ErrorContains(t, err, want)
	}
	_, err = yamlpos.Parse("f.yaml", []byte("a: {secret: {cmd: [get]}}"), yamlpos.Secrets(), yamlpos.KeepSealed(r.Foreign("this is a file of the web")))
	require.EqualError(t, err, "f.yaml:1:4: a program is not allowed here, because this is a file of the web\n  hint: name programs only in local files of your own")
}

func TestClosedRingAsksNobody(t *testing.T) {
	r := asking(func([]string, time.Duration) (string, error) { return "", errors.New("asked") })
	r.Closed = true
	text, err := parse(t, "a: {secret: {cmd: [get]}}", r).Get("a").Open()
	require.NoError(t, err)
	require.Equal(t, sealed.Closed, text)
}

func TestAsk(t *testing.T) {
	for _, c := range []struct{ name, script, want, err string }{
		{"the end of the last line", `printf 'a\nb\n'`, "a\nb", ""},
		{"no end of a line", `printf ' a '`, " a ", ""},
		{"nothing", `echo oops >&2`, "", "it printed nothing; its error output: oops"},
		{"a failure", `echo hunter2; printf 'x\033[1m' >&2; exit 7`, "", `exit status 7; its error output: x\x1b[1m`},
		{"too much", `head -c 100000 /dev/zero`, "", "it printed more than 64 KiB"},
		{"no text", `printf '\377\376'`, "", "its output is not UTF-8"},
		{"standard input", `cat; echo end`, "end", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := sealed.Ask(t.Context(), []string{"sh", "-c", c.script}, time.Minute)
			require.Equal(t, c.want, text)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
		})
	}
	_, err := sealed.Ask(t.Context(), []string{filepath.Join(t.TempDir(), "missing")}, time.Minute)
	require.ErrorContains(t, err, "no such file or directory")
}

func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	done := make(chan error)
	go func() {
		_, err := sealed.Ask(ctx, []string{"sh", "-c", `mkfifo "$0"; echo x > "$0"; sleep 1000 & wait`, started}, time.Hour)
		done <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, time.Hour, time.Millisecond)
	_, err := os.ReadFile(started) // waits for the writer
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

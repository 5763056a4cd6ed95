package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

// A stepped run has three resources that change something, and one in its desired state, on two hosts that are this
// machine.
const steppedSite = `name: web tier
ccm:
  resources:
    - exec:
        - one: {cwd: "DIR", provider: shell, command: "echo one >> {{ Facts.host.info.os }}.log"}
        - nothing: {command: "false", creates: /}
        - two: {cwd: "DIR", provider: shell, command: "echo two >> linux.log", sema: [both]}
        - secret: {cwd: "DIR", provider: shell, command: "echo hunter2 >> linux.log", sensitive: true}
`

// stepped runs ccm-push --step on a terminal, and types answers: each when its question is
// there.
func stepped(t *testing.T, answers ...[2]string) (log, screen string, status int) {
	t.Helper()
	a := pushAlone(t, "true", "stty noflsh; exec ccm-push --ssh-config=none --forks 1 -i hosts.yaml --step site.yaml")
	for name, text := range map[string]string{
		"hosts.yaml": "all: {hosts: {web1: {connect: {connection: local}}, web2: {connect: {connection: local}}}}\n",
		"site.yaml":  strings.ReplaceAll(steppedSite, "DIR", a.dir),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
	}
	a.cmd.Env = append(a.cmd.Env, "TERM=xterm", "CI=", "ACCESSIBLE=")
	w := &watched{alone: a}
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
	require.NoError(t, err)
	w.follow()
	for _, one := range answers {
		w.shows(one[0])
		_, err := w.terminal.WriteString(one[1])
		require.NoError(t, err)
	}
	screen, status = w.end()
	text, err := os.ReadFile(filepath.Join(a.dir, "linux.log"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.ReplaceAll(string(text), "\n", " "), screen, status
}

const (
	askOne    = "web1  exec#one  Would have executed"
	askTwo    = "web1  exec#two  Would have executed"
	askSecret = "web1  exec#secret  would do something that is sensitive"
	askOthers = "play web tier: web1 is done; continue with the other hosts (1)? [y]es, [q]uit: "
)

func TestStep(t *testing.T) {
	const ctrlC = "\x03"
	for _, test := range []struct {
		name    string
		answers [][2]string
		log     string // applied resources
		says    []string
		status  int
	}{
		{"yes to all", [][2]string{{askOne, "y\n"}, {askTwo, "yes\n"}, {askSecret, "Y\n"}, {askOthers, "y\n"}},
			"one two hunter2 one two hunter2 ", []string{"web1: 3 changed, 1 stable", "web2: 3 changed, 1 stable"}, 0},
		{"continue", [][2]string{{askOne, "c\n"}, {askOthers, "y\n"}},
			"one two hunter2 one two hunter2 ", []string{"web2: 3 changed, 1 stable"}, 0},
		{"not the others", [][2]string{{askOne, "c\n"}, {askOthers, "q\n"}},
			"one two hunter2 ", []string{"web1: 3 changed, 1 stable", "not started: 1 host"}, exit.Interrupted},
		{"quit", [][2]string{{askOne, "y\n"}, {askTwo, "q\n"}},
			"one ", []string{"web1  changed  exec#one", "exec#two"}, exit.Interrupted},
		{"no is no answer", [][2]string{{askOne, "n\n"}, {"a step cannot be skipped here: use --skip-tags; q stops the run", "maybe\n"}, {"write one of y, c, q: ", "quit\n"}},
			"", nil, exit.Interrupted},
		{"Ctrl-D", [][2]string{{askOne, "\x04"}}, "", nil, exit.Interrupted},
		{"Ctrl-C", [][2]string{{askOne, "y\n"}, {askTwo, ctrlC}}, "one ", []string{"stopping after the running resources"}, exit.Interrupted},
		{"Ctrl-C before the others", [][2]string{{askOne, "c\n"}, {askOthers, ctrlC}}, "one two hunter2 ", []string{"not started: 1 host"}, exit.Interrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, screen, status := stepped(t, test.answers...)
			require.Equal(t, test.log, log, screen)
			require.Equal(t, test.status, status, screen)
			for _, text := range test.says {
				require.Contains(t, screen, text)
			}
			require.NotContains(t, screen, "hunter2")
			require.NotContains(t, screen, "exec#nothing  Would")
		})
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestWatchPage runs the commands of docs/guide/watch.md on its manifest: commands that end by themselves to their end,
// with a timeout of 1 s for the page's 30 s, and the others until the host is watched. The hook receives an event for a
// removed file, and a manifest that becomes invalid prints the text of the page. TestFleetWatchService runs its unit
// with a real systemd.
func TestWatchPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guide/watch.md")
	require.NoError(t, err)
	page := map[string]docBlock{} // blocks that are not commands, by their section
	var commands []string
	for _, section := range parseDocPage(string(text)) {
		for _, b := range section.blocks {
			if !strings.HasPrefix(b.text, "ccm-push watch ") {
				page[section.title] = b
				continue
			}
			for line := range strings.Lines(b.text) {
				command, _, _ := strings.Cut(line, " #")
				commands = append(commands, strings.TrimSpace(command))
			}
		}
	}
	require.Len(t, commands, 6)
	require.Len(t, page, 3)
	wrong := strings.TrimPrefix(page["When files change"].text, "ccm-push: warning: ")
	require.NotEqual(t, wrong, page["When files change"].text)
	files := map[string]string{
		"site.yaml": "data: {env: production}\n" + page["Settings in the manifest"].text +
			"ccm: {resources: [file: [\"{{ Data.root }}/motd\": {content: \"hello\\n\", mode: \"0644\"}]]}\n",
		"wrong.yaml": "name: site\nhosts: all\nwatch: {mode: fix}\nccm: {resources: []}\n",
		"page":       "#!/bin/sh\necho \"$1\" >>told\ncat >>told\n",
		"until.sh":   "until test -e \"$2\" && grep -qF \"$1\" \"$2\"; do sleep 0.05; done\n",
		"wrong":      wrong,
	}
	script := "sshhost web1\nchmod 755 page\nccm-push -i hosts.yaml render site.yaml web1 --explain\nstdout '^  mode: report$'\n" +
		"ccm-push -i hosts.yaml -e env=test render site.yaml web1 --explain\nstdout '^  mode: repair$'\nccm-push -i hosts.yaml site.yaml\n"
	for i, command := range commands {
		if strings.Contains(command, "--once") || strings.Contains(command, "--converged-timeout") {
			files[fmt.Sprintf("%d.sh", i)] = strings.Replace(command, "--converged-timeout 30s", "--converged-timeout 1s", 1)
			script += fmt.Sprintf("exec sh %d.sh\nstdout 'watched: 1 host$'\n", i)
			continue
		}
		hook := strings.Contains(command, "--on-drift")
		command = strings.Replace(command, "/usr/local/bin/page", "./page", 1)
		files[fmt.Sprintf("%d.sh", i)] = fmt.Sprintf("exec %s --log log%d >out%d 2>err%d\n", command, i, i, i)
		script += fmt.Sprintf("exec sh %d.sh &%d&\nexec timeout 60 sh until.sh '\"event\":\"watched\"' log%d\n", i, i, i)
		if hook {
			script += "rm web1/motd\nexec timeout 60 sh until.sh '\"event\":\"drift\"' told\ngrep '^oncall$' told\n" +
				fmt.Sprintf("cp wrong.yaml site.yaml\nexec timeout 60 sh until.sh hint: err%d\nexec sh shown.sh err%d\n", i, i)
			files["shown.sh"] = "grep -A2 'is invalid' \"$1\" | sed 's/^ccm-push: warning: //' >shown\ncat shown\ncmp shown wrong\n"
		}
		script += fmt.Sprintf("kill -INT %d\nwait %d\n", i, i)
	}
	archive := &txtar.Archive{Comment: []byte(script)}
	for name, text := range files {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	params := scriptParams(t)
	params.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(params.Dir, "page.txtar"), txtar.Format(archive), 0o600))
	testscript.Run(t, params)
}

// TestFeaturesHaveTests checks that each row about mgmt's features names tests; TestPagesNameTests checks that they exist.
func TestFeaturesHaveTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/mgmt.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| mgmt | here | test |\n|---|---|---|\n")
	require.True(t, found)
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(table, -1)
	require.Greater(t, len(rows), 15)
	for _, row := range rows {
		require.Regexp(t, "`Test[A-Z]\\w*`", row)
	}
}

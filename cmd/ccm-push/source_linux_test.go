package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

// TestSourceOnATerminal has a run on a terminal show the lines that errors of it are about:
// where a resource is written that failed, and what could not be compiled, in the manifest
// and in a template of its folder.
func TestSourceOnATerminal(t *testing.T) {
	for _, test := range []struct{ name, site, want string }{
		{"a resource that failed", `ccm:
  resources:
    - exec:
        - wrong: {command: "false"}
`, `web1  failed   exec#wrong
    exited with status 1, expected 0
    sub/site.yaml:4:11: the resource is defined here
                - wrong: {command: "false"}
                  ^
`},
		{"an expression", `data: {level: "x{{ Facts.host.info.os }}"}
ccm:
  resources:
    - exec:
        - wrong: {command: "false", control: {if: "Data.level > 3"}}
`, `web1  failed   compile: sub/site.yaml:5:63: invalid operation: string > int (value of the variable "level", set at sub/site.yaml:1:15)
                - wrong: {command: "false", control: {if: "Data.level > 3"}}
                                                                      ^
`},
		{"a template", `data: {level: 3}
ccm:
  resources:
    - exec:
        - wrong: {command: "{{ template('a.templ') }}"}
`, `web1  failed   compile: sub/a.templ:2:13: missing key "Data.nope"
        two {{ Data.nope }}
                    ^
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := pushAlone(t, "true", "exec ccm-push --ssh-config=none -i hosts.yaml sub/site.yaml")
			require.NoError(t, os.Mkdir(filepath.Join(a.dir, "sub"), 0o700))
			for name, text := range map[string]string{
				"sub/site.yaml": test.site,
				"sub/a.templ":   "one {{ Facts.host.info.os }}\ntwo {{ Data.nope }}\n",
				"a.templ":       "another\none\n",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
			}
			a.cmd.Env = append(a.cmd.Env, "TERM=xterm", "CI=", "ACCESSIBLE=", "NO_COLOR=1")
			w := &watched{alone: a}
			var err error
			w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
			require.NoError(t, err)
			w.follow()
			screen, status := w.end()
			require.Equal(t, exit.Failed, status, screen)
			require.Contains(t, screen, test.want)
		})
	}
}

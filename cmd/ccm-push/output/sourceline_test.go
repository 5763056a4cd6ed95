package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func TestWithSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.yaml")
	require.NoError(t, os.WriteFile(path, []byte("- name: a\n  hosts: ä x\n\tpassword: hunter2 x\n"+strings.Repeat("y", 500)+"z\n\x1b[2Jx\n"), 0o600))
	at := func(line, column int, hint string) *yamlpos.Error {
		return &yamlpos.Error{File: path, Line: line, Column: column, Msg: "wrong", Hint: hint}
	}
	for _, test := range []struct {
		name string
		err  error
		want string // PATH stands for the file
	}{
		{"a place", at(1, 3, ""), "PATH:1:3: wrong\n    - name: a\n      ^"},
		{"behind another character than those of ASCII", at(2, 12, "x"), "PATH:2:12: wrong\n      hosts: ä x\n               ^\n  hint: x"},
		{"no column", at(1, 0, ""), "PATH:1: wrong\n    - name: a"},
		{"what may be a secret", at(3, 2, ""), "PATH:3:2: wrong"},
		{"a long line", at(4, 501, ""), "PATH:4:501: wrong\n    " + strings.Repeat("y", 60) + "z\n    " + strings.Repeat(" ", 60) + "^"},
		{"what a terminal would obey", at(5, 1, ""), "PATH:5:1: wrong\n    \\x1b[2Jx\n    ^"},
		{"no such line", at(9, 1, ""), "PATH:9:1: wrong"},
		{"no such file", &yamlpos.Error{File: "/no/such", Line: 1, Column: 1, Msg: "wrong"}, "/no/such:1:1: wrong"},
		{"several", yamlpos.Errors{at(1, 3, "x"), at(2, 3, "")}, "PATH:1:3: wrong\n    - name: a\n      ^\n  hint: x\nPATH:2:3: wrong\n      hosts: ä x\n      ^"},
		{"joined with others", errors.Join(at(1, 3, "x"), errors.New("wrong")), "PATH:1:3: wrong\n    - name: a\n      ^\n  hint: x\nwrong"},
		{"without a place", errors.New("wrong"), "wrong"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, strings.ReplaceAll(WithSource(test.err), path, "PATH"))
		})
	}
}

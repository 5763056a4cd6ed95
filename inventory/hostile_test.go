package inventory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostileInventories reads bombs, circles, devices and pipes. Each is refused or read; one that does not end meets the deadline of go test.
func TestHostileInventories(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	var chain, hosts strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&chain, "[g%d:children]\ng%d\n", n, n+1)
	}
	for n := range 300_000 {
		fmt.Fprintf(&hosts, `,"h%d"`, n)
	}
	list := "#!/bin/sh\ncat \"$0.json\"\n"
	for name, c := range map[string]struct {
		files map[string]string // a file with #! is executable
		make  func(dir string) error
		read  string // default: hosts
		want  string // expected error; empty means none
	}{
		"aliases":               {files: map[string]string{"hosts": bomb}, want: "the YAML text has more than 1000000 values"},
		"an alias in itself":    {files: map[string]string{"hosts": "all: &a {vars: {x: *a}}\n"}, want: "hosts:"},
		"lists in lists":        {files: map[string]string{"hosts.yaml": "all: " + strings.Repeat("[", 100_000)}, read: "hosts.yaml", want: "exceeded max depth"},
		"maps in maps":          {files: map[string]string{"hosts.yaml": "all: " + strings.Repeat("{a: ", 100_000)}, read: "hosts.yaml", want: "exceeded max depth"},
		"groups in a circle":    {files: map[string]string{"hosts": "[a:children]\nb\n[b:children]\na\n"}, want: "remove one of these children"},
		"groups in groups":      {files: map[string]string{"hosts": chain.String()}, want: "g20000"},
		"many names":            {files: map[string]string{"hosts": "h[1:99999999]\n"}, want: "more than 1000000 names"},
		"brackets":              {files: map[string]string{"hosts": "h x=" + strings.Repeat("[", 200_000) + "\n"}},
		"parentheses":           {files: map[string]string{"hosts": "h x=" + strings.Repeat("(", 200_000) + strings.Repeat(")", 200_000) + "\n"}},
		"a long line":           {files: map[string]string{"hosts": strings.Repeat("a", 8<<20)}, want: "hosts"},
		"a device":              {make: func(dir string) error { return os.Symlink("/dev/zero", filepath.Join(dir, "hosts")) }, want: "larger than 16 MiB"},
		"a file of 1 TiB":       {files: map[string]string{"hosts": ""}, make: func(dir string) error { return os.Truncate(filepath.Join(dir, "hosts"), 1<<40) }, want: "larger than 16 MiB"},
		"a pipe in a folder":    {make: func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, read: ".", want: "is neither a file nor a folder"},
		"folders in a circle":   {files: map[string]string{"x.yaml": "all:\n"}, make: circles, read: ".", want: "does a symbolic link lead in a circle?"},
		"many folders by links": {files: map[string]string{"x.yaml": "all:\n"}, make: diamonds, read: ".", want: "more than 100000 files and folders"},
		"variables in a pipe": {files: map[string]string{"hosts": "h\n", "host_vars/x": ""}, make: func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "host_vars/h"), 0o600)
		}, want: "is not a regular file"},
		"variables in a circle": {files: map[string]string{"hosts": "h\n", "host_vars/h/x.yml": "a: 1\n"}, make: func(dir string) error {
			return circles(filepath.Join(dir, "host_vars/h"))
		}, want: "does a symbolic link lead in a circle?"},
		"variables by links": {files: map[string]string{"hosts": "h\n", "host_vars/h/x.yml": "a: 1\n"}, make: func(dir string) error {
			return diamonds(filepath.Join(dir, "host_vars/h"))
		}, want: "more than 100000 files and folders"},
		"aliases in variables":        {files: map[string]string{"hosts": "h\n", "host_vars/h": bomb}, want: "the YAML text has more than 1000000 values"},
		"a program without end":       {files: map[string]string{"hosts": "#!/bin/sh\nexec cat /dev/zero\n"}, want: "prints more than 64 MiB"},
		"a program with deep JSON":    {files: map[string]string{"hosts": list, "hosts.json": strings.Repeat(`{"a":`, 200_000)}, want: "nested more than 100 levels deep"},
		"a program with much JSON":    {files: map[string]string{"hosts": list, "hosts.json": `{"a":[1` + strings.Repeat(",1", 5_000_000) + `]}`}, want: "hosts --list:1:"},
		"a program with one line":     {files: map[string]string{"hosts": list, "hosts.json": `{"a":{"hosts":["h"` + hosts.String() + `]},"_meta":{"hostvars":{}}}`}},
		"a program with a circle":     {files: map[string]string{"hosts": list, "hosts.json": `{"a":{"children":["b"]},"b":{"children":["a"]},"_meta":{"hostvars":{}}}`}, want: "remove one of these children"},
		"a program with not a number": {files: map[string]string{"hosts": list, "hosts.json": `{"a":{"vars":{"x":1` + strings.Repeat("0", 1<<20) + `}},"_meta":{"hostvars":{}}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				mode := os.FileMode(0o644)
				if strings.HasPrefix(text, "#!") {
					mode = 0o755
				}
				require.NoError(t, os.WriteFile(path, []byte(text), mode))
			}
			if c.make != nil {
				require.NoError(t, c.make(dir))
			}
			read := filepath.Join(dir, c.read)
			if c.read == "" {
				read = filepath.Join(dir, "hosts")
			}
			inv, err := Load(t.Context(), []string{read}, Options{})
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			for _, h := range inv.Hosts()[:min(1, len(inv.Hosts()))] {
				h.Vars()
			}
		})
	}
}

// circles makes links to a folder in itself: 4^20 folders at a depth of 20.
func circles(dir string) error {
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := os.Symlink(".", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// diamonds makes folders with 40 links each to the next one: no circle, and 40^5 folders. Few are below each other, since the
// system follows all links of a path each time.
func diamonds(dir string) error {
	away, err := os.MkdirTemp(filepath.Dir(dir), "")
	if err != nil {
		return err
	}
	next := dir
	for n := range 5 {
		to := filepath.Join(away, fmt.Sprint(n))
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		for link := range 40 {
			if err := os.Symlink(to, filepath.Join(next, fmt.Sprint("link", link))); err != nil {
				return err
			}
		}
		next = to
	}
	return nil
}

// TestHostileFoldersEnd ends with the context in the midst of a folder.
func TestHostileFoldersEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, diamonds(dir))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, []string{dir}, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

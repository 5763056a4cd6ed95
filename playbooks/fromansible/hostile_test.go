package fromansible_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
)

// hostile converts site.yml of a repository beside which a file is that it must not read. A text that
// begins with "-> " is a link, "|" a pipe.
func hostile(t *testing.T, files map[string]string) (*output.Output, error) {
	t.Helper()
	top := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(top, "outside"), []byte("key: CANARY-417\n"), 0o600))
	if files["site.yml"] == "" {
		files["site.yml"] = "- hosts: all\n  roles: [x]\n"
	}
	for name, text := range files {
		path := filepath.Join(top, "repository", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch target, link := strings.CutPrefix(text, "-> "); {
		case link:
			require.NoError(t, os.Symlink(strings.ReplaceAll(target, "TOP", top), path))
		case text == "|":
			require.NoError(t, syscall.Mkfifo(path, 0o644))
		default:
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "TOP", top)), 0o644))
		}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, errors.New("it takes too long"))
	defer cancel()
	done, err := fromansible.Convert(ctx, filepath.Join(top, "repository", "site.yml"), fromansible.Options{Types: builtin.Types()})
	require.NoError(t, ctx.Err())
	if err == nil {
		for name, f := range done.Files {
			require.NotContains(t, string(f.Content), "CANARY", name)
		}
		require.NotContains(t, done.Report.Markdown("report"), "CANARY")
	}
	return done, err
}

// TestOutsideOfTheRepository reads nothing that a repository only names, or links to.
func TestOutsideOfTheRepository(t *testing.T) {
	const use = "- copy: {src: f, dest: /etc/f}\n- template: {src: t.j2, dest: /etc/t}\n"
	for name, files := range map[string]map[string]string{
		"vars_files above":         {"site.yml": "- hosts: all\n  vars_files: [../outside, TOP/outside]\n  tasks: [{debug: {msg: x}}]\n"},
		"vars_files, a link":       {"site.yml": "- hosts: all\n  vars_files: [v.yml]\n  tasks: [{debug: {msg: x}}]\n", "v.yml": "-> TOP/outside"},
		"group_vars, a link":       {"group_vars/all.yml": "-> ../../outside", "roles/x/tasks/main.yml": use},
		"group_vars, a folder":     {"group_vars": "-> ../..", "roles/x/tasks/main.yml": use},
		"files, a link":            {"roles/x/files/f": "-> TOP/outside", "roles/x/tasks/main.yml": use},
		"files, a link by links":   {"roles/x/files/f": "-> g", "roles/x/files/g": "-> ../../../../outside", "roles/x/tasks/main.yml": use},
		"files, all of them":       {"roles/x/files": "-> ../../..", "roles/x/tasks/main.yml": "- copy: {src: '{{ a }}/outside', dest: /etc/f}\n- copy: {src: outside, dest: /etc/f}\n"},
		"a folder above":           {"roles/x/files/a": "", "roles/x/tasks/main.yml": "- copy: {src: ../../../../, dest: /etc/f}\n- copy: {src: ../../../../outside, dest: /etc/g}\n"},
		"a template":               {"roles/x/templates/t.j2": "-> TOP/outside", "roles/x/tasks/main.yml": use},
		"an include of a template": {"roles/x/templates/t.j2": "{% include '../../../../outside' %}\n", "roles/x/tasks/main.yml": use},
		"tasks":                    {"roles/x/tasks/main.yml": "-> TOP/outside"},
		"tasks that are included":  {"roles/x/tasks/main.yml": "- include_tasks: ../../../../outside\n- include_vars: ../../../../outside\n- include_vars: TOP/outside\n"},
		"defaults":                 {"roles/x/defaults/main.yml": "-> TOP/outside", "roles/x/tasks/main.yml": use},
		"a role":                   {"roles/x": "-> ../.."},
		"with_fileglob":            {"roles/x/tasks/main.yml": "- copy: {src: '{{ item }}', dest: /etc/f}\n  with_fileglob: ['../../../../o*', 'TOP/o*']\n"},
		"lookup":                   {"roles/x/tasks/main.yml": "- copy: {content: \"{{ lookup('file', '../../../../outside') }}\", dest: /etc/f}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := hostile(t, files)
			require.NoError(t, err)
			if strings.Contains(name, "link") && !strings.Contains(name, "vars_files") {
				require.Contains(t, done.Report.Markdown("report"), "is outside of the folder that is converted, or a link leads out of it")
			}
		})
	}
}

// TestHostileRepository holds bombs, circles and pipes against the bounds.
func TestHostileRepository(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	const content = "- copy: {dest: /etc/f, content: \"TEXT\"}\n"
	with := func(text string) map[string]string {
		return map[string]string{"roles/x/tasks/main.yml": strings.ReplaceAll(content, "TEXT", text)}
	}
	use := "- template: {src: t.j2, dest: /etc/t}\n"
	for name, c := range map[string]struct {
		files map[string]string
		says  string // the report
	}{
		"aliases in group_vars":  {map[string]string{"group_vars/all.yml": bomb, "roles/x/tasks/main.yml": use}, ""},
		"aliases in defaults":    {map[string]string{"roles/x/defaults/main.yml": bomb, "roles/x/tasks/main.yml": use}, "more than 250000 values"},
		"aliases in tasks":       {map[string]string{"roles/x/tasks/main.yml": "- copy: {dest: /x, content: &x [" + strings.Repeat("x, ", 1000) + "]}\n- debug: {msg: [" + strings.Repeat("*x, ", 1000) + "]}\n"}, "more than 250000 values"},
		"an alias in itself":     {map[string]string{"roles/x/defaults/main.yml": "a: &a [*a]\n", "roles/x/tasks/main.yml": use}, "values are more than 200 deep, or an alias"},
		"deep values":            {map[string]string{"roles/x/defaults/main.yml": "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "roles/x/tasks/main.yml": use}, "more than 200 deep"},
		"nested if":              {with(strings.Repeat("{% if a %}", 100_000)), "more than 200 deep"},
		"nested if, closed":      {with(strings.Repeat("{% if a %}", 20_000) + strings.Repeat("{% endif %}", 20_000)), "more than 200 deep"},
		"nested for":             {map[string]string{"roles/x/templates/t.j2": strings.Repeat("{% for a in b %}\n", 50_000), "roles/x/tasks/main.yml": use}, "more than 200 levels deep"},
		"many elif":              {map[string]string{"roles/x/templates/t.j2": "{% if a %}" + strings.Repeat("{% elif a %}\n", 5_000) + "{% endif %}", "roles/x/tasks/main.yml": use}, ""},
		"parentheses":            {with("{{ " + strings.Repeat("(", 200_000) + " }}"), ""},
		"filters":                {with("{{ a" + strings.Repeat("|string", 5_000) + " }}"), ""},
		"a template in itself":   {map[string]string{"roles/x/templates/t.j2": "{% include 't.j2' %}", "roles/x/tasks/main.yml": use}, ""},
		"templates in a circle":  {map[string]string{"roles/x/templates/t.j2": "{% include 'u.j2' %}", "roles/x/templates/u.j2": "{% include 't.j2' %}", "roles/x/tasks/main.yml": use}, ""},
		"handlers in a circle":   {map[string]string{"roles/x/handlers/main.yml": "- include_tasks: main.yml\n", "roles/x/tasks/main.yml": use}, "a file of handlers that includes itself"},
		"tasks in a circle":      {map[string]string{"roles/x/tasks/main.yml": "- include_tasks: a.yml\n", "roles/x/tasks/a.yml": "- include_tasks: main.yml\n"}, ""},
		"roles in a circle":      {map[string]string{"roles/x/tasks/main.yml": use, "roles/x/meta/main.yml": "dependencies: [y]\n", "roles/y/tasks/main.yml": use, "roles/y/meta/main.yml": "dependencies: [x]\n"}, ""},
		"playbooks in a circle":  {map[string]string{"site.yml": "- import_playbook: b.yml\n", "b.yml": "- import_playbook: site.yml\n"}, ""},
		"pipes":                  {map[string]string{"roles/x/tasks/main.yml": use + "- copy: {src: f, dest: /f}\n", "roles/x/templates/t.j2": "|", "roles/x/files/f": "|", "roles/x/defaults/main.yml": "|", "group_vars/all.yml": "|", "roles/x/tasks/more.yml": "|"}, ""},
		"devices":                {map[string]string{"roles/x/tasks/main.yml": use, "roles/x/templates/t.j2": "-> /dev/zero", "roles/x/defaults/main.yml": "-> /dev/zero", "group_vars/all.yml": "-> /dev/zero"}, ""},
		"links in a circle":      {map[string]string{"roles/x/tasks/main.yml": "-> other.yml", "roles/x/tasks/other.yml": "-> main.yml", "roles/x/defaults/main.yml": "{}"}, ""},
		"a folder in itself":     {map[string]string{"roles/x/tasks/main.yml": use, "roles/x/tasks/again": "-> .", "group_vars/again": "-> .."}, ""},
		"a file that is too big": {map[string]string{"roles/x/tasks/main.yml": use, "roles/x/defaults/main.yml": "a: " + strings.Repeat("x", 17<<20)}, "is larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := hostile(t, c.files)
			require.NoError(t, err)
			require.Contains(t, done.Report.Markdown("report"), c.says)
		})
	}
}

// TestModesOfConversions makes nothing more readable than what it is made of.
func TestModesOfConversions(t *testing.T) {
	convert := func(secret os.FileMode) map[string]os.FileMode {
		folder := t.TempDir()
		for name, text := range map[string]string{
			"site.yml": "- hosts: all\n  roles: [x]\n", "group_vars/all.yml": "a: 1\n", "roles/x/defaults/main.yml": "b: 1\n",
			"roles/x/files/f": "text", "roles/x/templates/t.j2": "{{ b }}\n",
			"roles/x/tasks/main.yml": "- copy: {src: f, dest: /etc/f}\n- template: {src: t.j2, dest: /etc/t}\n",
		} {
			path := filepath.Join(folder, name)
			require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
		}
		require.NoError(t, errors.Join(os.Chmod(filepath.Join(folder, "roles/x/defaults/main.yml"), secret), os.Chmod(filepath.Join(folder, "roles/x/files/f"), 0o750)))
		done, err := fromansible.Convert(t.Context(), filepath.Join(folder, "site.yml"), fromansible.Options{Types: builtin.Types()})
		require.NoError(t, err)
		modes := map[string]os.FileMode{}
		for name, f := range done.Files {
			modes[name] = f.Mode
		}
		require.Len(t, modes, 6)
		return modes
	}
	for name, mode := range convert(0o600) {
		switch name {
		case "roles/x/files/f":
			require.Equal(t, os.FileMode(0o750), mode)
		case "group_vars/all.yml", "roles/x/templates/t.j2":
			require.Equal(t, os.FileMode(0o644), mode)
		default:
			require.Equal(t, os.FileMode(0o600), mode, name)
		}
	}
	require.Equal(t, os.FileMode(0o640), convert(0o640)["site.yaml"])
	require.Equal(t, os.FileMode(0o644), convert(0o644)["site.yaml"])
}

// TestConversionEnds ends with its context.
func TestConversionEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, err := fromansible.Convert(ctx, "testdata", fromansible.Options{Types: builtin.Types()})
	require.ErrorIs(t, err, stopped)
}

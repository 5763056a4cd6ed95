package fromansible_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

var update = flag.Bool("update", false, "write what is converted into testdata and docs")

// TestConvert converts what is below in/ of each archive and compares it with what is below
// out/; what is written has to be valid but for what it says is still to be done.
func TestConvert(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			in, err := txtar.ParseFile(archive)
			require.NoError(t, err)
			folder := t.TempDir()
			source := unpack(t, in, "in/", folder)
			done, err := fromansible.Convert(t.Context(), source, fromansible.Options{Types: builtin.Types()})
			require.NoError(t, err)
			got := &txtar.Archive{Comment: in.Comment}
			for _, f := range in.Files {
				if strings.HasPrefix(f.Name, "in/") {
					got.Files = append(got.Files, f)
				}
			}
			names := done.Names()
			for _, name := range names {
				got.Files = append(got.Files, txtar.File{Name: "out/" + name, Data: done.Files[name].Content})
			}
			got.Files = append(got.Files, txtar.File{Name: "report.md", Data: []byte(done.Report.Markdown("report"))})
			if *update {
				require.NoError(t, os.WriteFile(archive, txtar.Format(got), 0o644))
			}
			require.Equal(t, string(txtar.Format(in)), string(txtar.Format(got)))
			require.Equal(t, []string(nil), problems(t, got))
		})
	}
}

// unpack writes the files of an archive below a prefix, and gives what is to be converted: the
// playbook, or the one role.
func unpack(t *testing.T, a *txtar.Archive, prefix, folder string) string {
	first := ""
	for _, f := range a.Files {
		rest, ok := strings.CutPrefix(f.Name, prefix)
		if !ok {
			continue
		}
		path := filepath.Join(folder, rest)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, f.Data, 0o644))
		if first == "" {
			first = path
			if top, _, nested := strings.Cut(rest, "/"); nested {
				first = filepath.Join(folder, top)
			}
		}
	}
	return first
}

// problems are what is wrong with the manifests of an archive, but for what is still to be done.
func problems(t *testing.T, a *txtar.Archive) (list []string) {
	folder := t.TempDir()
	unpack(t, a, "out/", folder)
	_, err := load.Files(context.Background(), []string{filepath.Join(folder, "site.yaml")}, builtin.Types())
	var errs yamlpos.Errors
	if err != nil && !errors.As(err, &errs) {
		return []string{err.Error()}
	}
	for _, e := range errs {
		if !strings.Contains(e.Error(), "still to be done") {
			list = append(list, strings.ReplaceAll(e.Error(), folder, ""))
		}
	}
	return list
}

// TestPage has the example of docs/guide/from-ansible.md be what comes out.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/from-ansible.md")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "left.yml")
	require.NoError(t, os.WriteFile(path, []byte(`- hosts: all
  tasks:
    - command: "echo {{ [1, 2] | random }}"
    - file: {path: /srv/app, state: directory, owner: root}
`), 0o644))
	done, err := fromansible.Convert(t.Context(), path, fromansible.Options{Types: builtin.Types()})
	require.NoError(t, err)
	require.Contains(t, string(page), "$ ccm-push from-ansible left.yml --out left\n"+done.Report.Summary()+"$ cat left/left.yaml\n"+string(done.Files["left.yaml"].Content)+"```\n")
}

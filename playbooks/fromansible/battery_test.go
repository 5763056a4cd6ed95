package fromansible_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
)

// TestBatteryIsValid converts the projects that e2e compares on hosts: what is written is valid, except for todos.
func TestBatteryIsValid(t *testing.T) {
	archives, err := filepath.Glob("../../e2e/testdata/battery/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			in, err := txtar.ParseFile(archive)
			require.NoError(t, err)
			folder := t.TempDir()
			for i, f := range in.Files {
				in.Files[i].Data = []byte(strings.ReplaceAll(string(f.Data), "OUT", "/srv/out"))
			}
			unpack(t, in, "", folder)
			done, err := fromansible.Convert(t.Context(), filepath.Join(folder, "site.yml"), fromansible.Options{Types: builtin.Types()})
			require.NoError(t, err)
			got := &txtar.Archive{}
			for _, name := range done.Names() {
				got.Files = append(got.Files, txtar.File{Name: "out/" + name, Data: done.Files[name].Content})
			}
			require.Equal(t, []string(nil), problems(t, got))
		})
	}
}

package fromansible_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A printed answer is what Ansible makes of {{ expression }} in a text.
type printed struct {
	Text  string
	Error bool   `json:",omitempty"` // it refuses it
	Here  string `json:",omitempty"` // what it becomes here, where that is another text on purpose
}

// TestExpressionsAsAnsible has what ansible-core prints for each expression, in a text of a playbook: what is carried over
// and does not fail prints the same, in a manifest and, where no backslash is in it, in a template. TestAnsibleExpressions of
// e2e records it.
func TestExpressionsAsAnsible(t *testing.T) {
	text, err := os.ReadFile("testdata/expressions.json")
	require.NoError(t, err)
	var recorded struct {
		Variables map[string]any
		Answers   map[string]printed
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	var variables map[string]any // in which whole numbers are whole
	require.NoError(t, yaml.Unmarshal(text, &struct {
		Variables *map[string]any `yaml:"Variables"`
	}{&variables}))
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "templates"), 0o755))
	names := slices.Sorted(maps.Keys(recorded.Answers))
	var tasks []any
	for i, expression := range names {
		text, template := "= {{ "+expression+" }}", fmt.Sprintf("%d.j2", i)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "templates", template), []byte(text), 0o644))
		tasks = append(tasks,
			map[string]any{"copy": map[string]any{"dest": fmt.Sprintf("/text/%d", i), "content": text}},
			map[string]any{"template": map[string]any{"dest": fmt.Sprintf("/template/%d", i), "src": template}})
	}
	book, err := yaml.Marshal([]any{map[string]any{"hosts": "all", "vars": variables, "tasks": tasks}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "site.yml"), book, 0o644))
	done, err := fromansible.Convert(t.Context(), filepath.Join(folder, "site.yml"), fromansible.Options{Types: builtin.Types()})
	require.NoError(t, err)
	contents := contentsOf(t, done.Files["site.yaml"].Content)
	out := t.TempDir()
	for name, file := range done.Files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(out, name), file.Content, 0o644))
	}
	files, err := render.OpenFiles(out)
	require.NoError(t, err)
	defer files.Close()
	given := 0
	for i, expression := range names {
		answer := recorded.Answers[expression]
		if answer.Here == "" {
			answer.Here = answer.Text
		}
		for _, kind := range []string{"text", "template"} {
			if kind == "template" && strings.Contains(expression, `\`) {
				continue // there it has another meaning
			}
			content, ok := contents[fmt.Sprintf("/%s/%d", kind, i)]
			if !ok {
				continue
			}
			parsed, err := templates.Parse(content, templates.Position{})
			if err != nil {
				continue
			}
			got, err := parsed.Eval(context.Background(), &templates.Env{Data: variables, Environ: map[string]any{"HOME": "/root"}, Files: files})
			if err != nil {
				continue
			}
			given++
			require.False(t, answer.Error, "%s: Ansible refuses it; %s", expression, content)
			want := answer.Here
			if kind == "template" {
				want = answer.Text
			}
			require.Equal(t, "= "+want, got, "%s: %s", expression, content)
		}
	}
	require.Greater(t, given, len(names)) // of twice as many
}

// contentsOf are those of the files of a manifest, by their paths.
func contentsOf(t *testing.T, manifest []byte) map[string]string {
	var plays []struct {
		CCM struct {
			Resources []map[string]yaml.Node
		}
	}
	require.NoError(t, yaml.Unmarshal(manifest, &plays))
	contents := map[string]string{}
	for _, one := range plays[0].CCM.Resources {
		list, ok := one["file"]
		if !ok {
			continue
		}
		var resources []map[string]struct{ Content string }
		require.NoError(t, list.Decode(&resources))
		for _, r := range resources {
			for path, file := range r {
				contents[path] = file.Content
			}
		}
	}
	return contents
}

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/manifests"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/manual"
	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestReference compares docs/reference with the program; `make reference` writes it.
func TestReference(t *testing.T) {
	t.Parallel()
	const dir = "../../docs/reference"
	root := newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil)).root()
	want := map[string]string{}
	for _, page := range manual.Pages(root) {
		want[page.Name()+".md"] = page.Markdown()
	}
	for _, typ := range builtin.Types() {
		want["type-"+typ.Name+".md"] = typePage(t, typ)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	pages := map[string]string{} // made of the program; other tests compare the others
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		if bytes.Contains(text, []byte("\n<!-- Made of the program by `make reference`. -->\n")) {
			pages[entry.Name()] = string(text)
		}
	}
	if *update {
		for name := range pages {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return
	}
	for name, text := range pages {
		require.Equal(t, want[name], text, "%s: `make reference` writes it again", name)
	}
	require.Len(t, pages, len(want), "`make reference` writes the others")
}

// longPages are the types whose pages may have more than 600 words, with their limits: these types have 16 properties, and
// the package managers or file attributes that differ. The limits only shrink.
var longPages = map[string]int{"file": 830, "package": 895}

// typePage returns the page of a resource type.
func typePage(t *testing.T, typ modules.Type) string {
	t.Helper()
	var b strings.Builder
	cell := strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace
	fmt.Fprintf(&b, "# %s\n\n<!-- Made of the program by `make reference`. -->\n\n%s\n\n| property | | |\n|---|---|---|\n", typ.Name, typ.Doc)
	for _, f := range modules.Fields(typ.New()) {
		names := "`" + strings.Join(append([]string{f.Name}, f.Also...), "`, `") + "`"
		fmt.Fprintf(&b, "| %s | %s | %s |\n", names, cell(strings.Join(manifests.Kinds(f), "; ")), cell(f.Doc))
	}
	examples, err := typ.Examples()
	require.NoError(t, err)
	if len(examples) > 0 {
		b.WriteString("\n## Examples\n")
	}
	for _, e := range examples {
		fmt.Fprintf(&b, "\n%s\n\n```yaml\n%s```\n", e.Title, e.Text)
	}
	details, err := typ.Details()
	require.NoError(t, err)
	if details != "" {
		fmt.Fprintf(&b, "\n## Details\n\n%s", details)
	}
	b.WriteString("\nSee also [writing manifests](../guide/manifests.md).\n")
	require.LessOrEqual(t, len(strings.Fields(b.String())), cmp.Or(longPages[typ.Name], 600), "words of the page of %s: shorten modules/*/examples/details.md or texts of properties", typ.Name)
	return b.String()
}

// TestManPages reads every page with groff, as man does.
func TestManPages(t *testing.T) {
	t.Parallel()
	groff := needs.Program(t, "groff")
	dir := t.TempDir()
	_, _, err := execute(t, []string{"SOURCE_DATE_EPOCH=1767312000"}, "man", dir)
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(dir, "man[17]", "ccm-push*.[17]"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 25)
	for _, page := range pages {
		out, err := exec.CommandContext(t.Context(), groff, "-man", "-Kutf8", "-ww", "-z", page).CombinedOutput()
		require.NoError(t, err)
		require.Empty(t, string(out), page)
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Contains(t, string(text), `"2026-01-02" "ccm\-push dev"`)
	}
}

func TestManRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		environ []string
		argv    []string
		want    string
	}{
		{nil, []string{"man"}, "missing argument: ccm-push man DIR"},
		{nil, []string{"man", dir, dir}, "man takes one DIR, but got 2 arguments"},
		{[]string{"SOURCE_DATE_EPOCH=today"}, []string{"man", dir}, `SOURCE_DATE_EPOCH "today": write seconds since 1970`},
		{nil, []string{"-o", "json", "man", dir}, "--output json is for runs and facts; man prints text"},
	} {
		_, _, err := execute(t, test.environ, test.argv...)
		require.EqualError(t, err, test.want)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

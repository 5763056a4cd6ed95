package layout_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/layout"
)

var cases = []struct{ name, text, want string }{
	{"four blanks", "a:\n    b: 1\n    c:\n        - x\n", "a:\n  b: 1\n  c:\n    - x\n"},
	{"a list that is not indented", "a:\n- b: 1\n  c: 2\n- d\n", "a:\n  - b: 1\n    c: 2\n  - d\n"},
	{"blanks behind a dash", "-   a: 1\n    b: 2\n-   -   c\n    -   d\n", "- a: 1\n  b: 2\n- - c\n  - d\n"},
	{"blank lines", "\n\na: 1   \n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n"},
	{"no end of line", "a: 1", "a: 1\n"},
	{"ends of lines of Windows", "a:\r\n    b: 1\r\n", "a:\n  b: 1\n"},
	{"comments", "# top\n\na: # behind\n    # of b\n    b: 1\n    # at the end\n# of c\nc: 2\n", "# top\n\na: # behind\n  # of b\n  b: 1\n  # at the end\n# of c\nc: 2\n"},
	{"a text", "a:\n    b: |\n        x\n          y  \n\n\n        z\n\n\n    c: >-\n      folded\n", "a:\n  b: |\n    x\n      y  \n\n\n    z\n\n  c: >-\n    folded\n"},
	{"a text of a list", "a:\n    - |\n        x\n    -   b: |\n            y\n", "a:\n  - |\n    x\n  - b: |\n      y\n"},
	{"a text that keeps its end", "a: |+\n   x\n\n\n", "a: |+\n  x\n\n\n"},
	{"an empty text", "a:\n    b: |\n    c: 1\n", "a:\n  b: |\n  c: 1\n"},
	{"what looks like a comment in a text", "a: |\n   # no comment\n   x\n", "a: |\n  # no comment\n  x\n"},
	{"lists and maps in braces", "a:\n    b: [1,\n        2]\n    c: {x: 1,   y: 2}\n", "a:\n  b: [1,\n      2]\n  c: {x: 1,   y: 2}\n"},
	{"quotes", "a: 'x'\nb: \"y\"\n\"c\": z\n", "a: 'x'\nb: \"y\"\n\"c\": z\n"},
	{"a value over several lines", "a:\n    b: one\n        two\n\n        three\n", "a:\n  b: one\n      two\n\n      three\n"},
	{"templates", "a:\n    b: \"{{  Data.x }}\"\n    c: |\n        {{  Data.y  }}  \n", "a:\n  b: \"{{  Data.x }}\"\n  c: |\n    {{  Data.y  }}  \n"},
	{"documents", "---\na:\n    b: 1\n---\n# second\n-   c\n...\n", "---\na:\n  b: 1\n---\n# second\n- c\n...\n"},
	{"no value", "a:\nb:\n    -\n    -   c:\n", "a:\nb:\n  -\n  - c:\n"},
	{"nothing", "\n\n", ""},
	{"comments only", "# a\n\n\n# b\n", "# a\n\n# b\n"},
	// Unsupported parts keep their indentation.
	{"an anchor", "a: &x\n    b: 1  \n\n\nc: *x\n", "a: &x\n    b: 1\n\nc: *x\n"},
	{"an indentation that is written", "a: |2\n      x\n\n\nb: 1\n", "a: |2\n      x\n\nb: 1\n"},
	{"a question mark", "? a\n:   b\n\n\n", "? a\n:   b\n"},
}

func TestFormat(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := layout.Format([]byte(c.text))
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
	_, err := layout.Format([]byte("a: [\n"))
	require.ErrorContains(t, err, "yaml: line")
}

// TestEveryFile formats all YAML of this project, in files and pages.
func TestEveryFile(t *testing.T) {
	root := "../../.."
	all, left := 0, 0
	fence := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$|^-- [^ ]+\\.ya?ml --\n(.*?)(?:^-- |\\z)")
	try := func(text string) {
		if yaml.Unmarshal([]byte(text), new(yaml.Node)) != nil {
			return
		}
		all++
		if !holds(t, []byte(text)) {
			left++
		}
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".md", ".txtar":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "ml") {
			try(string(text))
			return err
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			try(m[1] + m[2])
		}
		return err
	}))
	require.Greater(t, all, 300)
	t.Logf("%d of %d are left as they are", left, all)
	require.Less(t, left, all/50)
}

// holds formats a text and reports whether that worked. It checks that the result means the same, and that formatting
// it again changes nothing.
func holds(t testing.TB, text []byte) bool {
	t.Helper()
	got, err := layout.Format(text)
	if err != nil {
		return false
	}
	require.Equal(t, meaning(t, text), meaning(t, got), "%s\nbecame\n%s", text, got)
	require.Equal(t, strings.Join(strings.Fields(string(text)), ""), strings.Join(strings.Fields(string(got)), ""))
	again, err := layout.Format(got)
	require.NoError(t, err)
	require.Equal(t, string(got), string(again))
	return true
}

var atLine = regexp.MustCompile(`line \d+`)

// meaning returns the decoded documents of a text, as a text, since .nan equals nothing.
func meaning(t testing.TB, text []byte) string {
	t.Helper()
	var list []any
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var v any
		if err := d.Decode(&v); err != nil {
			return fmt.Sprintf("%v %s", list, atLine.ReplaceAllString(err.Error(), ""))
		}
		list = append(list, v)
	}
}

func FuzzFormat(f *testing.F) {
	for _, c := range cases {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) { holds(t, []byte(text)) })
}

package replace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const again = `"regexp" matches the text of "replace", so each run would replace again (write another expression, or use a line resource)`

var edits = []struct {
	name    string
	replace Replace
	have    string
	want    string // or the error
	action  string
}{
	{"everywhere", Replace{Regexp: "a", Replace: "b"}, "a xa\nya", "b xb\nyb", "replaced 3 places"},
	{"nowhere", Replace{Regexp: "a", Replace: "b"}, "x\n", "x\n", ""},
	{"by nothing", Replace{Regexp: `\s+#.*$`}, "x # y\nz\n", "x\nz\n", "replaced 1 place"},
	{"at the ends of lines", Replace{Regexp: "^x$", Replace: "y"}, "x\nxx\nx", "y\nxx\ny", "replaced 2 places"},
	{"over several lines", Replace{Regexp: `b\nc\n`, Replace: ""}, "a\nb\nc\nd\n", "a\nd\n", "replaced 1 place"},
	{"groups", Replace{Regexp: `(\w+)=(?P<v>\w*)`, Replace: `\2\\\g<v>:\g<1>\t\n`}, "k=v\n", "v\\v:k\t\n\n", "replaced 1 place"},
	{"a group that is not there", Replace{Regexp: `a(b)?`, Replace: `x\1`}, "a ab\n", "x xb\n", "replaced 2 places"},
	{"a dollar", Replace{Regexp: "a", Replace: "$1 ${HOME}"}, "a\n", "$1 ${HOME}\n", "replaced 1 place"},
	{"by itself", Replace{Regexp: "^#?x$", Replace: "x"}, "x\n", "x\n", ""},
	{"one by itself", Replace{Regexp: "^#?x$", Replace: "x"}, "x\n#x\n", "x\nx\n", "replaced 1 place"},
	{"more each time", Replace{Regexp: "foo", Replace: "foobar"}, "foo\n", again, ""},
	{"more each time, and nothing to do", Replace{Regexp: "foo", Replace: "foobar"}, "bar\n", "bar\n", ""},
	{"below", Replace{Regexp: "x", Replace: "y", After: "^b"}, "x\nb\nx\nx\n", "x\nb\ny\ny\n", "replaced 2 places"},
	{"below a line", Replace{Regexp: "port=1", Replace: "port=2", After: `^\[b\]$`}, "[a]\nport=1\n[b]\nport=1\n", "[a]\nport=1\n[b]\nport=2\n", "replaced 1 place"},
	{"above a line", Replace{Regexp: "port=1", Replace: "port=2", Before: `^\[b\]`}, "[a]\nport=1\n[b]\nport=1\n", "[a]\nport=2\n[b]\nport=1\n", "replaced 1 place"},
	{"a line of Windows", Replace{Regexp: "^x=0$", Replace: "x=1"}, "x=0\r\ny\r\n", "x=1\r\ny\r\n", "replaced 1 place"},
	{"lines of Windows", Replace{Regexp: "^x=0$", Replace: `x=1\ny=2`, After: "^a$"}, "a\r\nx=0\r\nz", "a\r\nx=1\r\ny=2\r\nz", "replaced 1 place"},
	{"behind a byte order mark", Replace{Regexp: "^x=0$", Replace: "x=1"}, "\ufeffx=0\n", "\ufeffx=1\n", "replaced 1 place"},
	{"below a match in the midst", Replace{Regexp: "x", Replace: "y", After: "\nb"}, "x\nb\nx\nx\n", "x\nb\ny\ny\n", "replaced 2 places"},
	{"above", Replace{Regexp: "x", Replace: "y", Before: "b"}, "x\nb\nx\n", "y\nb\nx\n", "replaced 1 place"},
	{"between", Replace{Regexp: "x", Replace: "y", After: "b", Before: "b"}, "x\nb\nx\nb\nx\n", "x\nb\ny\nb\nx\n", "replaced 1 place"},
	{"below nothing", Replace{Regexp: "x", Replace: "y", After: "z"}, "x\n", "x\n", ""},
	{"above nothing", Replace{Regexp: "x", Replace: "y", Before: "z"}, "x\n", "x\n", ""},
	{"line ends of Windows", Replace{Regexp: "a", Replace: "b"}, "a\r\nx\r\n", "b\r\nx\r\n", "replaced 1 place"},
}

func TestEdit(t *testing.T) {
	for _, test := range edits {
		t.Run(test.name, func(t *testing.T) {
			r := test.replace
			r.Name = "/f"
			require.NoError(t, r.Validate())
			text := edit.Parse(test.have)
			done, err := r.edit(text)
			if err != nil {
				require.EqualError(t, err, test.want)
				return
			}
			require.Equal(t, test.want, text.String())
			require.Equal(t, test.action, done.Action)
			require.Equal(t, test.name == "below nothing" || test.name == "above nothing", done.Warning != "")
			done, err = r.edit(text)
			require.NoError(t, err)
			require.Empty(t, done.Action)
		})
	}
}

// FuzzEdit checks that a second run has nothing to do, whatever is replaced by whatever.
func FuzzEdit(f *testing.F) {
	for _, e := range edits {
		f.Add(e.have, e.replace.Regexp, e.replace.Replace, e.replace.After, e.replace.Before)
	}
	f.Fuzz(func(t *testing.T, file, regexp, replace, after, before string) {
		r := Replace{Name: "/f", Regexp: regexp, Replace: replace, After: after, Before: before}
		if modules.CheckTags(&r) != nil || r.Validate() != nil {
			return
		}
		text := edit.Parse(file)
		if _, err := r.edit(text); err != nil {
			require.Equal(t, file, text.String())
			return
		}
		done, err := r.edit(edit.Parse(text.String()))
		require.NoError(t, err)
		require.Empty(t, done.Action)
	})
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Replace]{
		{Name: "the name is the path", Of: Replace{Name: "/a", Regexp: "x"}},
		{Name: "no path", Of: Replace{Name: "a", Regexp: "x"}, Err: `path: "path" is missing, and the name of the resource is not the path of a file (write the path of the file, such as path: /etc/hosts)`},
		{Name: "no expression", Of: Replace{Name: "/a", Regexp: "("}, Err: "regexp: invalid regular expression: missing closing ) in \"(\" (use the syntax of RE2, which has no look-around and no back-references)"},
		{Name: "everywhere", Of: Replace{Name: "/a", Regexp: "x*"}, Err: "regexp: the expression matches the empty text, so it matches everywhere (write x+ in place of x*)"},
		{Name: "no group", Of: Replace{Name: "/a", Regexp: "x", Replace: `\1`}, Err: `replace: the expression has no group \1 (write \\ for a backslash)`},
		{Name: "no named group", Of: Replace{Name: "/a", Regexp: "(x)", Replace: `\g<y>`}, Err: `replace: the expression has no group \g<y> (write \\ for a backslash)`},
		{Name: "group without an end", Of: Replace{Name: "/a", Regexp: "(x)", Replace: `\g<1`}, Err: `replace: the expression has no group \g<1 (write \\ for a backslash)`},
		{Name: "half a backslash", Of: Replace{Name: "/a", Regexp: "x", Replace: `a\`}, Err: `replace: it ends with a single backslash (write \\ for a backslash)`},
		{Name: "another letter", Of: Replace{Name: "/a", Regexp: "x", Replace: `\d`}, Err: `replace: \d means nothing (write \\ for a backslash)`},
		{Name: "after", Of: Replace{Name: "/a", Regexp: "x", After: "["}, Err: "after: invalid regular expression: missing closing ] in \"[\" (use the syntax of RE2, which has no look-around and no back-references)"},
		{Name: "command", Of: Replace{Name: "/a", Regexp: "x", Validation: "visudo"}, Err: `validate: "visudo" has no %s, which stands for the file to look at (write it as in validate: "visudo -cf %s")`},
	})
}

func TestConverges(t *testing.T) {
	conf := modtest.Node{Path: "f", Text: "port = 80\n# port = 81\nend", Mode: 0o640}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "twice", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","regexp":"port = (\\d+)","replace":"listen \\1"}`,
			Action: "replaced 2 places",
			Changes: []modules.Change{
				{Property: "text", Have: "port = 80", Want: "listen 80"}, {Property: "text", Have: "port = 81", Want: "listen 81"},
			},
		},
		{Name: "nothing", Tree: []modtest.Node{conf}, Properties: `{"name":"n","path":"$ROOT/f","regexp":"listen"}`},
		{
			Name: "approved", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","regexp":"80","replace":"81","validate":"grep -q 81 %s"}`,
			Action: "replaced 1 place", Changes: []modules.Change{{Property: "text", Have: "80", Want: "81"}},
		},
		{Name: "more each time", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","regexp":"80","replace":"8080"}`, Err: again},
		{Name: "no file", Properties: `{"name":"$ROOT/f","regexp":"80"}`, Err: "$ROOT/f is not there (make it with a file resource)"},
		{
			Name: "through a link", Tree: []modtest.Node{conf, {Path: "l", Link: "f"}}, Properties: `{"name":"$ROOT/l","regexp":"80"}`,
			Err: "the path $ROOT/l is a symlink, and ccm-push does not write through a symlink (write the path of the target)",
		},
	}...)
}

func TestPredicts(t *testing.T) {
	types := modules.Registry{file.Type(), exec.Type(), Type()}
	owned := `,"owner":"$UID","group":"$GID","mode":"0644"`
	for _, s := range []modtest.Scenario{
		{
			Name: "a file, what is replaced in it, and the file as that left it",
			Steps: []modtest.Step{
				{Type: "replace", Properties: `{"name":"$ROOT/f","regexp":"a","replace":"b"}`},
				{Type: "file", Properties: `{"name":"$ROOT/f","content":"a\na\n"` + owned + `}`},
				{Type: "replace", Properties: `{"name":"$ROOT/f","regexp":"a","replace":"b"}`},
				{Type: "replace", Properties: `{"name":"$ROOT/f","regexp":"b","replace":"c"}`},
				{Type: "replace", Properties: `{"name":"$ROOT/f","regexp":"a","replace":"b"}`},
				{Type: "file", Properties: `{"name":"$ROOT/f","content":"c\nc\n"` + owned + `}`},
			},
			Want: []string{"failed", "changed", "changed", "changed", "stable", "stable"},
		},
		{
			Name: "behind a command",
			Tree: []modtest.Node{{Path: "f", Text: "a"}},
			Steps: []modtest.Step{
				{Type: "exec", Properties: `{"name":"true"}`},
				{Type: "replace", Properties: `{"name":"$ROOT/f","regexp":"a","replace":"b"}`},
			},
			Want: []string{"changed likely", "changed unknown"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "a b a"}})
	for file, want := range map[string]string{"f": `{"ensure":"present","matches":2,`, "g": `{"ensure":"absent","matches":0,`} {
		res := modtest.Decode(t, modules.Registry{Type()}, "replace", `{"name":"$ROOT/`+file+`","regexp":"a","replace":"b"}`, root)
		path := root + "/" + file
		modtest.Describes(t, modtest.Host(), res, want+`"name":"`+path+`","path":"`+path+`"}`)
		sources, err := res.(modules.Watcher).Watch(t.Context(), modtest.Host())
		require.NoError(t, err)
		require.Equal(t, modules.Sources{Paths: []string{path}}, sources)
	}
}

// TestMixedLineEnds replaces in files with both line ends: $ matches before either, and lines keep theirs.
func TestMixedLineEnds(t *testing.T) {
	for _, c := range []struct{ have, regexp, with, want string }{
		{"a=1\r\nb=1\na=2\r\n", `^a=.*$`, "a=3", "a=3\r\nb=1\na=3\r\n"},
		{"a\nb\r\nc\n", `b\n`, "x\ny\n", "a\nx\r\ny\r\nc\n"},
		{"a\r\nb\n", `a\nb`, "x\ny", "x\r\ny\n"},
		{"a\r\nb\nc", `c`, "x\ny", "a\r\nb\nx\ny"},
		{"a\nb\r\n", `$`, "!", "a!\nb!\r\n!"},
		{"a\nb\r\n", `\r`, "", "a\nb\n"},
	} {
		r := Replace{Name: "/f", Regexp: c.regexp, Replace: c.with}
		got, _, err := r.on(c.have)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q", c.have)
	}
}

package scaffold

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	post := func(glob, command string) Scaffold {
		return Scaffold{Name: "/a", Source: "s", Post: []map[string]string{{glob: command}}}
	}
	made := func(nodes ...modules.TreeNode) Scaffold {
		return Scaffold{Name: "/a", Tree: &modules.Tree{Mode: 0o755, Nodes: nodes}}
	}
	file := func(path string) modules.TreeNode {
		return modules.TreeNode{Path: path, Mode: 0o644, Content: modules.TextContent("x")}
	}
	modtest.Validates(t, []modtest.Verdict[Scaffold]{
		{Name: "good", Of: Scaffold{Name: "/a/b", Source: "s"}},
		{Name: "root", Of: Scaffold{Name: "/", Source: "s"}},
		{Name: "relative", Of: Scaffold{Name: "a", Source: "s"}, Err: `name: "name" must be an absolute path`},
		{Name: "not clean", Of: Scaffold{Name: "/a/../b", Source: "s"}, Err: `name: "name" must be a canonical path (write /b)`},
		{Name: "NUL", Of: Scaffold{Name: "/a\x00", Source: "s"}, Err: `name: "name" must not contain a NUL byte`},
		{Name: "no source", Of: Scaffold{Name: "/a"}, Err: `source: "source" cannot be empty`},
		{Name: "purge the root", Of: Scaffold{Name: "/", Source: "s", Purge: true}, Err: "purge: the root directory cannot be purged"},
		{Name: "left alone", Of: Scaffold{Name: "/a", Source: "s", LeftDelimiter: "<<"}, Err: `right_delimiter: "right_delimiter" must be given together with "left_delimiter"`},
		{Name: "right alone", Of: Scaffold{Name: "/a", Source: "s", RightDelimiter: ">>"}, Err: `left_delimiter: "left_delimiter" must be given together with "right_delimiter"`},
		{Name: "the same", Of: Scaffold{Name: "/a", Source: "s", LeftDelimiter: "%", RightDelimiter: "%"}, Err: `right_delimiter: "right_delimiter" must differ from "left_delimiter"`},
		{Name: "no templates", Of: Scaffold{Name: "/a", Source: "s", Engine: "none"}},
		{Name: "delimiters of none", Of: Scaffold{Name: "/a", Source: "s", Engine: "none", LeftDelimiter: "<<", RightDelimiter: ">>"}, Err: "engine: files that are copied as they are have no delimiters"},
		{Name: "post", Of: post("*.sh", "chmod +x {}")},
		{Name: "post without a glob", Of: post("", "x"), Err: `post[0]: a key of "post" cannot be empty`},
		{Name: "post without a command", Of: post("*.sh", " "), Err: `post[0]: the value of the key "*.sh" in "post" cannot be empty`},
		{Name: "post of nothing", Of: post("*.sh", "''"), Err: `post[0]: the value of the key "*.sh" in "post" is not a command`},
		{Name: "post with half a quote", Of: post("*.sh", "sh 'x"), Err: `post[0]: the value of the key "*.sh" in "post": unterminated single-quoted string (close the quote, or put a backslash before the quote)`},
		{Name: "post with half a pattern", Of: post("[", "x"), Err: `post[0]: the key "[" under "post" is not a valid pattern for file names (write a file name or a pattern such as "*.sh", without a folder)`},
		{Name: "post with a path", Of: post("d/*.sh", "x"), Err: `post[0]: the key "d/*.sh" under "post" is not a valid pattern for file names (write a file name or a pattern such as "*.sh", without a folder)`},
		{Name: "post twice in one", Of: Scaffold{Name: "/a", Source: "s", Post: []map[string]string{{"a": "b", "c": "d"}}}, Err: `post[0]: "post" has 2 globs in one list item (write each with its own dash: - "*.sh": COMMAND)`},
		{Name: "a tree", Of: made(file("a"), modules.TreeNode{Path: "d", Mode: 0o755}, file("d/a"), modules.TreeNode{Path: "d/l", Target: "../a"})},
		{Name: "an empty tree", Of: made()},
		{Name: "a path that leads up", Of: made(file("../a")), Err: `source: "../a" is not a clean path below the directory`},
		{Name: "an absolute path", Of: made(file("/a")), Err: `source: "/a" is an absolute path; write one below the directory`},
		{Name: "a path that is not clean", Of: made(file("a/")), Err: `source: "a/" is not a clean path below the directory`},
		{Name: "no path", Of: made(file("")), Err: "source: the path is empty"},
		{Name: "no directory", Of: made(file("d/a")), Err: `source: "d/a" is in no directory of the tree`},
		{Name: "below a file", Of: made(file("d"), file("d/a")), Err: `source: "d/a" is in no directory of the tree`},
		{Name: "twice", Of: made(file("a"), file("a")), Err: `source: "a" is there twice`},
		{Name: "a link out", Of: made(modules.TreeNode{Path: "l", Target: "../x"}), Err: `source: "l" links to "../x", which is outside of the tree`},
		{Name: "an absolute link", Of: made(modules.TreeNode{Path: "l", Target: "/etc"}), Err: `source: "l" links to "/etc", which is outside of the tree`},
		{Name: "a link with a way up in it", Of: made(modules.TreeNode{Path: "l", Target: "d/../../x"}), Err: `source: "l" links to "d/../../x": .. is allowed only at the beginning`},
		{Name: "too large", Of: made(modules.TreeNode{Path: "a", Content: modules.HashedContent(modules.TextContent("").SHA256(), 49<<20)}), Err: "source: the files together have more than 48 MiB"},
	})
	setuid := made(modules.TreeNode{Path: "a", Mode: 0o1000 << 12, Content: modules.TextContent("")})
	require.ErrorContains(t, setuid.Validate(), `source: "a" has mode`) // Go decides how the mode is written
}

func TestPrepare(t *testing.T) {
	var asked modules.TreeRequest
	src := modules.Source{Tree: func(_ context.Context, r modules.TreeRequest) (*modules.Tree, error) {
		asked = r
		if r.Source == "gone" {
			return nil, errors.New("there is no folder")
		}
		return &modules.Tree{Mode: 0o755}, nil
	}}
	s := Scaffold{Name: "/a", Source: "s", Engine: "go", LeftDelimiter: "<", RightDelimiter: ">", SkipEmpty: true, Purge: true, Data: map[string]any{"x": 1}}
	require.NoError(t, s.Prepare(t.Context(), src))
	require.Equal(t, modules.TreeRequest{Source: "s", Engine: "go", Left: "<", Right: ">", SkipEmpty: true, Data: map[string]any{"x": 1}}, asked)
	require.NoError(t, s.Validate())
	wire, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"/a","purge":true,"tree":{"mode":493}}`, string(wire))

	gone := Scaffold{Name: "/a", Source: "gone"}
	require.EqualError(t, gone.Prepare(t.Context(), src), "there is no folder")
	alone := Scaffold{Name: "/a", Source: "s"}
	require.EqualError(t, alone.Prepare(t.Context(), modules.Source{}),
		`source: no controller to render the templates of the source (pass the rendered files as "tree")`)
	// If Validate refuses the properties, nothing is read.
	half := Scaffold{Name: "/a", Source: "gone", LeftDelimiter: "<"}
	require.NoError(t, half.Prepare(t.Context(), src))
}

// TestFields checks that the tree is not among the properties for people.
func TestFields(t *testing.T) {
	for _, f := range modules.Fields(new(Scaffold)) {
		require.NotEqual(t, "tree", f.Name)
	}
	// The tree is accepted on the wire.
	_, err := modules.Registry{Type()}.Decode("scaffold", []byte(`{"name":"/a","tree":{"mode":493,"nodes":[{"path":"../x","content":"y"}]}}`))
	require.EqualError(t, err, `source: "../x" is not a clean path below the directory`)
}

func TestCommandOn(t *testing.T) {
	for _, test := range []struct {
		command command
		want    []string
	}{
		{command{"gofmt", "-w"}, []string{"gofmt", "-w", "/f"}},
		{command{"chmod", "+x", "{}"}, []string{"chmod", "+x", "/f"}},
		{command{"x", "in={}", "{}{}"}, []string{"x", "in=/f", "/f/f"}},
		{command{"{}"}, []string{"{}", "/f"}},
	} {
		require.Equal(t, test.want, test.command.on("/f"))
	}
}

func TestLastLine(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "\n": "", "one\n": "one", "one\ntwo\n\nout": "two", "\nout\nlast\n": "last",
	} {
		require.Equal(t, want, lastLine(said), "%q", said)
	}
}

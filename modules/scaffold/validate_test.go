package scaffold

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
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
	for _, test := range []struct {
		name string
		s    Scaffold
		err  string
	}{
		{"good", Scaffold{Name: "/a/b", Source: "s"}, ""},
		{"root", Scaffold{Name: "/", Source: "s"}, ""},
		{"relative", Scaffold{Name: "a", Source: "s"}, "name: name must be an absolute path"},
		{"not clean", Scaffold{Name: "/a/../b", Source: "s"}, "name: name must be a canonical path (write /b)"},
		{"NUL", Scaffold{Name: "/a\x00", Source: "s"}, "name: name must not contain a NUL byte"},
		{"no source", Scaffold{Name: "/a"}, "source: source cannot be empty"},
		{"purge the root", Scaffold{Name: "/", Source: "s", Purge: true}, "purge: the root directory cannot be purged"},
		{"left alone", Scaffold{Name: "/a", Source: "s", LeftDelimiter: "<<"}, "right_delimiter: right_delimiter must be given together with left_delimiter"},
		{"right alone", Scaffold{Name: "/a", Source: "s", RightDelimiter: ">>"}, "left_delimiter: left_delimiter must be given together with right_delimiter"},
		{"the same", Scaffold{Name: "/a", Source: "s", LeftDelimiter: "%", RightDelimiter: "%"}, "right_delimiter: right_delimiter must differ from left_delimiter"},
		{"no templates", Scaffold{Name: "/a", Source: "s", Engine: "none"}, ""},
		{"delimiters of none", Scaffold{Name: "/a", Source: "s", Engine: "none", LeftDelimiter: "<<", RightDelimiter: ">>"}, "engine: files that are copied as they are have no delimiters"},
		{"post", post("*.sh", "chmod +x {}"), ""},
		{"post without a glob", post("", "x"), "post[0]: post keys cannot be empty"},
		{"post without a command", post("*.sh", " "), `post[0]: post value for key "*.sh" cannot be empty`},
		{"post of nothing", post("*.sh", "''"), `post[0]: post value for key "*.sh" is not a command`},
		{"post with half a quote", post("*.sh", "sh 'x"), `post[0]: post value for key "*.sh": unterminated single-quoted string (close the quote, or put a backslash before it)`},
		{"post with half a pattern", post("[", "x"), `post[0]: post key "[" is not a pattern of base names (write it as "*.sh")`},
		{"post with a path", post("d/*.sh", "x"), `post[0]: post key "d/*.sh" is not a pattern of base names (write it as "*.sh")`},
		{"post twice in one", Scaffold{Name: "/a", Source: "s", Post: []map[string]string{{"a": "b", "c": "d"}}}, `post[0]: post has 2 globs in one list item (write each with its own dash: - "*.sh": COMMAND)`},
		{"a tree", made(file("a"), modules.TreeNode{Path: "d", Mode: 0o755}, file("d/a"), modules.TreeNode{Path: "d/l", Target: "../a"}), ""},
		{"an empty tree", made(), ""},
		{"a path that leads up", made(file("../a")), `source: "../a" is not a clean path below the directory`},
		{"an absolute path", made(file("/a")), `source: "/a" is an absolute path; write one below the directory`},
		{"a path that is not clean", made(file("a/")), `source: "a/" is not a clean path below the directory`},
		{"no path", made(file("")), "source: the path is empty"},
		{"no directory", made(file("d/a")), `source: "d/a" is in no directory of the tree`},
		{"below a file", made(file("d"), file("d/a")), `source: "d/a" is in no directory of the tree`},
		{"twice", made(file("a"), file("a")), `source: "a" is there twice`},
		{"setuid", made(modules.TreeNode{Path: "a", Mode: 0o1000 << 12, Content: modules.TextContent("")}), `source: "a" has mode -x--------- and more`},
		{"a link out", made(modules.TreeNode{Path: "l", Target: "../x"}), `source: "l" links to "../x", which is outside of the tree`},
		{"an absolute link", made(modules.TreeNode{Path: "l", Target: "/etc"}), `source: "l" links to "/etc", which is outside of the tree`},
		{"a link with a way up in it", made(modules.TreeNode{Path: "l", Target: "d/../../x"}), `source: "l" links to "d/../../x": .. is allowed only at the beginning`},
		{"too large", made(modules.TreeNode{Path: "a", Content: modules.HashedContent(modules.TextContent("").SHA256(), 49<<20)}), "source: the files together have more than 48 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.s.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			if test.name == "setuid" { // how the mode is written is Go's business
				require.ErrorContains(t, err, `source: "a" has mode`)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
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

package templates_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
)

// scaffoldBounds are wide enough for most tests.
func scaffoldBounds() templates.ScaffoldBounds {
	return templates.ScaffoldBounds{
		Nodes: 100,
		Size:  1 << 20,
		Path: func(name string) error {
			if name == "" || name == "." || path.Clean(name) != name || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
				return errors.New("the path is no good")
			}
			return nil
		},
		Link: func(name, target string) error {
			if path.IsAbs(target) {
				return fmt.Errorf("%q leads away", name)
			}
			return nil
		},
	}
}

// scaffoldFolder makes a folder of a play with files below the folder s. A name
// that ends in / is a directory, a text that begins with -> a link.
func scaffoldFolder(t testing.TB, files map[string]string) *templates.Files {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "s"), 0o755))
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		switch target, isLink := strings.CutPrefix(text, "->"); {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(file, 0o755))
		case isLink:
			require.NoError(t, os.Symlink(target, file))
		default:
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
	}
	f, err := templates.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func scaffoldEnv(f *templates.Files) *templates.Env {
	return &templates.Env{
		Facts:   map[string]any{"os": "linux", "evil": "../../etc/passwd"},
		Data:    map[string]any{"name": "web", "port": int64(80), "list": []any{"a", "b"}, "nested": map[string]any{"k": "v"}},
		Environ: map[string]any{"HOME": "/root"},
		Files:   f,
	}
}

// shown returns a tree as text: "dir/", "file=text", "file<copy", "link->target".
func shown(nodes []templates.ScaffoldNode) string {
	var all []string
	for _, n := range nodes {
		switch {
		case n.Dir:
			all = append(all, n.Path+"/")
		case n.Target != "":
			all = append(all, n.Path+"->"+n.Target)
		case n.Copy != "":
			all = append(all, n.Path+"<"+n.Copy)
		default:
			all = append(all, n.Path+"="+n.Text)
		}
	}
	return strings.Join(all, " ")
}

var scaffolds = []struct {
	name  string
	of    templates.Scaffold
	files map[string]string
	want  string
}{
	{"jet", templates.Scaffold{}, map[string]string{"s/a": "[[ Data.name ]] on [[ facts.os ]]"}, "a=web on linux"},
	{"go", templates.Scaffold{Go: true}, map[string]string{"s/a": "{{ .Data.name }} on {{ .facts.os }}"}, "a=web on linux"},
	{"all roots in jet", templates.Scaffold{}, map[string]string{"s/a": "[[ environ.HOME ]][[ Environ.HOME ]][[ data.port ]][[ lookup(\"data.port\") ]][[ lookup(\"data.none\", 5) ]]"}, "a=/root/root80805"},
	{"all roots in go", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ .environ.HOME }}{{ .Environ.HOME }}{{ .data.port }}{{ lookup "data.port" }}{{ lookup "data.none" 5 }}`}, "a=/root/root80805"},
	{"the context of jet has the roots", templates.Scaffold{}, map[string]string{"s/a": "[[ .data.name ]][[ .Facts.os ]]"}, "a=weblinux"},
	{"sprig", templates.Scaffold{Go: true}, map[string]string{"s/a": "{{ .data.list | join `+` | upper }}"}, "a=A+B"},
	{"functions of jet", templates.Scaffold{}, map[string]string{"s/a": "[[ file(\"t.txt\") ]][[ readFile(\"t.txt\") ]][[ template(\"{{ Data.port + 1 }}\") ]][[ jet(\"<< data.port >>\", \"<<\", \">>\") ]]", "t.txt": "T"}, "a=TT8180"},
	{"functions of go", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ file "t.txt" }}{{ readFile "t.txt" }}{{ jet "<< data.port >>" "<<" ">>" }}`, "t.txt": "T"}, "a=TT80"},
	{"delimiters of jet", templates.Scaffold{Delims: templates.Delims{Left: "<%", Right: "%>"}}, map[string]string{"s/a": "<% Data.name %>[[ x ]]{{ y }}"}, "a=web[[ x ]]{{ y }}"},
	{"delimiters of go", templates.Scaffold{Go: true, Delims: templates.Delims{Left: "<<", Right: ">>"}}, map[string]string{"s/a": "<< .Data.name >>{{ y }}", "s/b": "{{ z }}"}, "a=web{{ y }} b<s/b"},
	{"static files", templates.Scaffold{}, map[string]string{"s/a": "plain", "s/b": "\xff[[ x ]]", "s/c": "{{ x }}", "s/d": "{* gone *}[[ Data.port ]]"}, "a<s/a b<s/b c<s/c d=80"},
	{"no templates", templates.Scaffold{Plain: true}, map[string]string{"s/a": "[[ no.such ]]", "s/b": "{{ }}", "s/_partials/c": "[["}, "_partials/ _partials/c<s/_partials/c a<s/a b<s/b"},
	{"directories and links", templates.Scaffold{}, map[string]string{"s/d/e/f": "x", "s/empty/": "", "s/l": "->d/e"}, "d/ d/e/ d/e/f<s/d/e/f empty/ l->d/e"},
	{"partials", templates.Scaffold{}, map[string]string{
		"s/a": `[[ render("_partials/p", map("who", Data.name)) ]]`, "s/_partials/p": "hi [[ .who ]] of [[ Data.port ]]",
		"s/d/_partials/q": "[[ .nothing.at.all ]]", "s/d/x": "y",
	}, "a=hi web of 80 d/ d/x<s/d/x"},
	{"partials of go", templates.Scaffold{Go: true}, map[string]string{
		"s/a": `{{ render "_partials/p" (dict "who" .Data.name) }}|{{ render "_partials/q" . }}`, "s/_partials/p": "hi {{ .who }}", "s/_partials/q": "{{ .Data.port }}{{ .data.none | default 7 }}",
	}, "a=hi web|807"},
	{"a partial gets the context", templates.Scaffold{}, map[string]string{"s/a": `[[ render("_partials/p", .) ]]`, "s/_partials/p": "[[ .data.name ]][[ data.port ]]"}, "a=web80"},
	{"a partial gets a scalar", templates.Scaffold{}, map[string]string{"s/a": `[[ range Data.list ]][[ render("_partials/p", .) ]][[ end ]]`, "s/_partials/p": "<[[ . ]]>"}, "a=<a><b>"},
	{"a partial of go gets a scalar", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ range .Data.list }}{{ render "_partials/p" . }}{{ end }}`, "s/_partials/p": "<{{ . }}>"}, "a=<a><b>"},
	{"a partial renders another", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ render "_partials/p" 1 }}`, "s/_partials/p": `{{ render "_partials/q" (add . 1) }}`, "s/_partials/q": "{{ . }}"}, "a=2"},
	{"a partial changes its own copy", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ $d := dict "x" 1 }}{{ render "_partials/p" $d }}{{ $d.x }}{{ .Data.nested.k }}`, "s/_partials/p": `{{ $_ := set . "x" 2 }}{{ .x }}`}, "a=21v"},
	{"another file is rendered", templates.Scaffold{}, map[string]string{"s/a": `[[ render("b", .) ]]!`, "s/b": "[[ data.port ]]"}, "a=80! b=80"},
	{"write", templates.Scaffold{}, map[string]string{"s/a": `[[ range Data.list ]][[ write("d/" + . + ".conf", "is " + .) ]][[ end ]]`}, "a= d/ d/a.conf=is a d/b.conf=is b"},
	{"write of go", templates.Scaffold{Go: true}, map[string]string{"s/d/c": `x{{ range .Data.list }}{{ write (print "d/" .) . }}{{ end }}{{ "piped" | write "y/z" }}`}, "d/ d/a=a d/b=b d/c=x y/ y/z=piped"},
	{"write with render", templates.Scaffold{}, map[string]string{"s/a": `[[ write("b", render("_partials/p", 5)) ]]`, "s/_partials/p": "[[ . ]]"}, "a= b=5"},
	{"include", templates.Scaffold{}, map[string]string{"s/d/a": `[[ include "../_partials/p" ]]`, "s/_partials/p": "[[ data.port ]]"}, "d/ d/a=80"},
	{"a host's text is a value", templates.Scaffold{}, map[string]string{"s/a": "[[ Facts.evil ]]"}, "a=../../etc/passwd"},
}

func TestScaffold(t *testing.T) {
	for _, c := range scaffolds {
		t.Run(c.name, func(t *testing.T) {
			f := scaffoldFolder(t, c.files)
			c.of.Folder = "s"
			tree, err := templates.LoadScaffold(f, c.of, scaffoldBounds())
			require.NoError(t, err)
			nodes, err := tree.Render(t.Context(), scaffoldEnv(f), false, scaffoldBounds())
			require.NoError(t, err)
			require.Equal(t, c.want, shown(nodes))
			again, err := templates.LoadScaffold(f, c.of, scaffoldBounds())
			require.NoError(t, err)
			require.Same(t, tree, again, "parsed once")
		})
	}
}

func TestScaffoldSkipsEmpty(t *testing.T) {
	f := scaffoldFolder(t, map[string]string{
		"s/a": "[[ if Data.port == 1 ]]x[[ end ]]\n \t", "s/b": " \n", "s/c": "[[ write(\"w\", \" \") ]][[ write(\"v\", \"v\") ]]", "s/d/e": "", "s/f": "[[ Data.port ]]",
	})
	tree, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.NoError(t, err)
	for skip, want := range map[bool]string{
		false: "a=\n \t b<s/b c= d/ d/e<s/d/e f=80 v=v w= ",
		true:  "d/ f=80 v=v",
	} {
		nodes, err := tree.Render(t.Context(), scaffoldEnv(f), skip, scaffoldBounds())
		require.NoError(t, err)
		require.Equal(t, want, shown(nodes))
	}
}

func TestScaffoldKeepsModes(t *testing.T) {
	f := scaffoldFolder(t, map[string]string{"s/d/run": "x", "s/d/t": "[[ Data.port ]]"})
	require.NoError(t, errors.Join(
		os.Chmod(filepath.Join(f.Dir(), "s/d/run"), 0o750), os.Chmod(filepath.Join(f.Dir(), "s/d/t"), 0o4711), os.Chmod(filepath.Join(f.Dir(), "s/d"), 0o2770), os.Chmod(filepath.Join(f.Dir(), "s"), 0o711),
	))
	tree, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.NoError(t, err)
	require.EqualValues(t, 0o711, tree.Mode)
	nodes, err := tree.Render(t.Context(), scaffoldEnv(f), false, scaffoldBounds())
	require.NoError(t, err)
	modes := map[string]uint32{}
	for _, n := range nodes {
		modes[n.Path] = uint32(n.Mode)
	}
	require.Equal(t, map[string]uint32{"d": 0o770, "d/run": 0o750, "d/t": 0o711}, modes)
}

// badScaffolds are folders that cannot be used for any host.
var badScaffolds = []struct {
	name, folder string
	of           templates.Scaffold
	files        map[string]string
	want         string
}{
	{"missing", "t", templates.Scaffold{}, nil, `no folder "t" in DIR`},
	{"a file", "s/a", templates.Scaffold{}, map[string]string{"s/a": ""}, `"s/a" is not a folder`},
	{"outside", "../x", templates.Scaffold{}, nil, `"../x" is outside the folder DIR`},
	{"absolute", "/etc", templates.Scaffold{}, nil, `"/etc" is not below the folder of the play`},
	{"empty", "s", templates.Scaffold{}, nil, `no files in "s"`},
	{"partials only", "s", templates.Scaffold{}, map[string]string{"s/_partials/p": "x"}, `no files in "s"`},
	{"syntax of jet", "s", templates.Scaffold{}, map[string]string{"s/a": "ok\n[[ if x ]]", "s/b": "[[ nope ]]"}, "s/a:2: unexpected end of the template: an end is missing\ns/b:1:4: identifier \"nope\" is not defined\n  hint: defined names: Data, Environ, Facts, Groups, Host, Hosts, Item, Outer and 3 more"},
	{"syntax of go", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": "ok\n{{ if }}"}, "s/a:2: missing value for if"},
	{"syntax of a partial", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": "x", "s/_partials/p": "{{ nope }}"}, `s/_partials/p:1:4: function "nope" is not defined`},
	{"no such partial", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ render("_partials/p", 1) ]]`}, `s/a:1:4: no file "s/_partials/p" in DIR`},
	{"partial outside", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ render("../x", 1) ]]`, "x": ""}, "s/a:1:4: render: \"../x\" is not a path below s\n  hint: write a path from the source folder"},
	{"partial outside in go", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ render "/x" 1 }}`, "x": ""}, "s/a:1:4: render: \"/x\" is not a path below s\n  hint: write a path from the source folder"},
	{"computed partial", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ render(Data.name, 1) ]]`}, `s/a:1:11: the argument of "render" must be a fixed text or file name, not a computed value`},
	{"computed partial in go", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ render .Data.name 1 }}`}, `s/a:1:4: the argument of "render" must be a fixed text or file name, not a computed value`},
	{"render without a context", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ render("b") ]]`, "s/b": ""}, "s/a:1:4: \"render\" takes a path and a context, not 1 arguments\n  hint: write render(\"_partials/name\", .)"},
	{"render without a context in go", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ render "b" }}`, "s/b": ""}, `s/a:1:4: "render" takes 2 arguments, not 1`},
	{"a binary partial", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ render("b", 1) ]]`, "s/b": "\xff"}, `s/a:1:4: "s/b" is not text, so that it cannot be rendered`},
	{"a link that leads away", "s", templates.Scaffold{}, map[string]string{"s/a": "->/etc"}, `s/a: "a" leads away`},
	{"a path made of facts", "s", templates.Scaffold{}, map[string]string{"s/a": "[[ file(Facts.evil) ]]"}, "s/a:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path out of the context", "s", templates.Scaffold{}, map[string]string{"s/a": "[[ x := . ]][[ file(x.Facts.evil) ]]"}, "s/a:1:16: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path below the context", "s", templates.Scaffold{}, map[string]string{"s/a": "[[ file(.facts.evil) ]]"}, "s/a:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path at a computed key of the context", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ file(.["facts"].evil) ]]`}, "s/a:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path that a partial is given", "s", templates.Scaffold{}, map[string]string{"s/a": "x", "s/_partials/p": "[[ file(.name) ]]"}, "s/_partials/p:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path that a partial of go is given", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": "x", "s/_partials/p": "{{ file .name }}"}, "s/_partials/p:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a path that is the dot of a partial", "s", templates.Scaffold{Go: true}, map[string]string{"s/a": "x", "s/_partials/p": "{{ . | file }}"}, "s/_partials/p:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	{"a rendered path", "s", templates.Scaffold{}, map[string]string{"s/a": `[[ file(render("b", .)) ]]`, "s/b": ""}, "s/a:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
}

func TestScaffoldRefuses(t *testing.T) {
	for _, c := range badScaffolds {
		t.Run(c.name, func(t *testing.T) {
			f := scaffoldFolder(t, c.files)
			c.of.Folder = c.folder
			_, err := templates.LoadScaffold(f, c.of, scaffoldBounds())
			require.Error(t, err)
			got := strings.ReplaceAll(err.Error(), f.Dir(), "DIR")
			require.True(t, got == c.want || strings.HasPrefix(got, c.want), "got  %s\nwant %s", got, c.want)
		})
	}
}

func TestScaffoldRefusesSpecialFiles(t *testing.T) {
	f := scaffoldFolder(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(f.Dir(), "s/pipe"), 0o600))
	_, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.EqualError(t, err, "s/pipe: invalid file in source: a device, socket or pipe")
}

func TestScaffoldBounds(t *testing.T) {
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprint("s/", i)] = `[[ range ints(0, 3) ]][[ write("w" + Data.name + . + "/" + Data.n, "12345") ]][[ end ]]`
	}
	f := scaffoldFolder(t, files)
	tight := scaffoldBounds()
	tight.Nodes = 4
	_, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, tight)
	require.EqualError(t, err, `there are more than 4 files, directories and links in "s"`)

	partials := map[string]string{"s/a": "x"}
	for i := range 5 {
		partials[fmt.Sprint("s/_partials/", i)] = "x"
	}
	_, err = templates.LoadScaffold(scaffoldFolder(t, partials), templates.Scaffold{Folder: "s"}, tight)
	require.EqualError(t, err, `there are more than 4 files, directories and links in "s"`)

	f = scaffoldFolder(t, map[string]string{"s/a": `[[ range ints(0, 9) ]][[ write("w" + ., "12345") ]][[ end ]]`})
	tree, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.NoError(t, err)
	_, err = tree.Render(t.Context(), scaffoldEnv(f), false, tight)
	require.EqualError(t, err, "s/a:1:26: the scaffold has grown beyond 4 files, directories and links")
	tight.Nodes, tight.Size = 100, 12
	_, err = tree.Render(t.Context(), scaffoldEnv(f), false, tight)
	require.EqualError(t, err, "s/a:1:26: the files of the scaffold have grown beyond 0 MiB")

	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tree.Render(over, scaffoldEnv(f), false, scaffoldBounds())
	require.EqualError(t, err, "s/a:1:1: rendering did not end in time: context canceled")
}

// TestScaffoldRenderErrors checks the errors for one host: no error shows a value.
func TestScaffoldRenderErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    templates.Scaffold
		files map[string]string
		want  string
	}{
		{"missing key", templates.Scaffold{}, map[string]string{"s/d/a": "x\n [[ Data.nope ]]"}, "s/d/a:2:5: missing key \"Data.nope\""},
		{"missing key in go", templates.Scaffold{Go: true}, map[string]string{"s/a": "{{ .Data.nope }}"}, "s/a:1:9: missing key \"nope\" in .Data.nope"},
		{"missing key of a partial", templates.Scaffold{}, map[string]string{"s/a": "[[ render(\"_partials/p\", map(\"x\", 1)) ]]", "s/_partials/p": "[[ .y ]]"}, "s/_partials/p:1:4: missing key \".y\""},
		{"write outside", templates.Scaffold{}, map[string]string{"s/a": "[[ write(Facts.evil, \"x\") ]]"}, "s/a:1:4: write: the path must be clean and below the target"},
		{"write to an absolute path", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ write "/etc/passwd" "x" }}`}, "s/a:1:4: write: the path must be clean and below the target"},
		{"write over a file", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"b\", \"x\") ]]", "s/b": ""}, "s/a:1:4: write: there is something else of this name in the source"},
		{"write over itself", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"a\", \"x\") ]]"}, "s/a:1:4: write: there is something else of this name in the source"},
		{"write over a directory", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"d\", \"x\") ]]", "s/d/": ""}, "s/a:1:4: write: there is something else of this name in the source"},
		{"write twice", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"x\", \"x\") ]][[ write(\"x\", \"x\") ]]"}, "s/a:1:25: write: the same file is written twice"},
		{"write below a file", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"b/c\", \"x\") ]]", "s/b": ""}, "s/a:1:4: write: a parent of the path is a file or a link"},
		{"write through a link", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"l/c\", \"x\") ]]", "s/l": "->d", "s/d/": ""}, "s/a:1:4: write: a parent of the path is a file or a link"},
		{"write below what is written", templates.Scaffold{}, map[string]string{"s/a": "[[ write(\"b\", \"x\") ]][[ write(\"b/c\", \"x\") ]]"}, "s/a:1:25: write: a parent of the path is a file or a link"},
		{"endless partials", templates.Scaffold{Go: true}, map[string]string{"s/a": `{{ render "_partials/p" 1 }}`, "s/_partials/p": `{{ render "_partials/p" 1 }}`}, "s/_partials/p:1:4: templates render each other more than 20 levels deep: … s/_partials/p → s/_partials/p → s/_partials/p → s/_partials/p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := scaffoldFolder(t, c.files)
			c.of.Folder = "s"
			tree, err := templates.LoadScaffold(f, c.of, scaffoldBounds())
			require.NoError(t, err)
			_, err = tree.Render(t.Context(), scaffoldEnv(f), false, scaffoldBounds())
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.want), "got  %s\nwant %s", err, c.want)
			require.NotContains(t, err.Error(), "passwd\"", "a value is shown")
		})
	}
}

func TestScaffoldFunctionsAreItsOwn(t *testing.T) {
	_, err := templates.ParseJet(`[[ write("a", "b") ]]`, templates.Position{File: "x.jet", Line: 1, Column: 1, Verbatim: true}, templates.Delims{}, nil)
	require.EqualError(t, err, `x.jet:1:4: "write" is a function of the templates of a scaffold`)
	_, err = templates.ParseGo(`{{ render "a" . }}`, templates.Position{File: "x.gotmpl", Line: 1, Column: 1, Verbatim: true}, templates.Delims{})
	require.EqualError(t, err, `x.gotmpl:1:4: "render" is a function of the templates of a scaffold`)
}

func TestScaffoldFacts(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    templates.Scaffold
		files map[string]string
		paths []string
		all   bool
	}{
		{"none", templates.Scaffold{}, map[string]string{"s/a": "[[ Data.x ]]", "s/b": "[[ range Data.l ]][[ . ]][[ end ]]"}, nil, false},
		{"of files and partials", templates.Scaffold{}, map[string]string{"s/a": "[[ Facts.a.b ]][[ render(\"_partials/p\", Facts.c) ]]", "s/_partials/p": "[[ facts.d ]][[ .x ]]"}, []string{"a.b", "c", "d"}, false},
		{"below the context", templates.Scaffold{}, map[string]string{"s/a": "[[ .facts.a.b ]]"}, []string{"a.b"}, false},
		{"indexed below the context", templates.Scaffold{}, map[string]string{"s/a": "[[ .facts[\"a\"].b ]]"}, nil, true},
		{"the context is handed on", templates.Scaffold{}, map[string]string{"s/a": "[[ render(\"_partials/p\", .) ]]", "s/_partials/p": "[[ .facts.d ]]"}, []string{"d"}, false},
		{"the context is handed on in go", templates.Scaffold{Go: true}, map[string]string{"s/a": "{{ render `_partials/p` . }}{{ render `_partials/p` $ }}", "s/_partials/p": "{{ .facts.d }}"}, []string{"d"}, false},
		{"the whole context", templates.Scaffold{}, map[string]string{"s/a": "[[ x := . ]][[ x.facts.a ]]"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := scaffoldFolder(t, c.files)
			c.of.Folder = "s"
			tree, err := templates.LoadScaffold(f, c.of, scaffoldBounds())
			require.NoError(t, err)
			paths, all := tree.Facts()
			require.Equal(t, c.all, all)
			require.Equal(t, c.paths, paths)
		})
	}
}

// TestScaffoldPaths checks data that is made from facts, which is known only together with the play.
func TestScaffoldPaths(t *testing.T) {
	f := scaffoldFolder(t, map[string]string{"s/a": "[[ file(Data.x) ]]"})
	tree, err := templates.LoadScaffold(f, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.NoError(t, err)
	require.NoError(t, tree.CheckPaths(templates.Taint{}))
	require.NoError(t, tree.CheckPaths(templates.Taint{Data: map[string]bool{"x": false, "y": true}}))
	for _, taint := range []templates.Taint{{Data: map[string]bool{"x": true}}, {AllData: true}} {
		require.EqualError(t, tree.CheckPaths(taint), "s/a:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\"")
	}
}

// FuzzScaffoldWrite writes to any path, and checks that the result has directories before their content, each path
// once, and no path that leads up.
func FuzzScaffoldWrite(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "../a", "/a", "a//b", "a/../b", "s", ".", "", "a\x00b", "\xff", strings.Repeat("x/", 100) + "y"} {
		f.Add(seed, "b/c")
	}
	files := scaffoldFolder(f, map[string]string{"s/t": `[[ write(Data.one, "1") ]][[ try ]][[ write(Data.two, "2") ]][[ end ]]`, "s/d/f": "x", "s/l": "->d"})
	tree, err := templates.LoadScaffold(files, templates.Scaffold{Folder: "s"}, scaffoldBounds())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, one, two string) {
		env := &templates.Env{Data: map[string]any{"one": one, "two": two}, Files: files}
		nodes, err := tree.Render(t.Context(), env, false, scaffoldBounds())
		if err != nil {
			return
		}
		dirs, seen := map[string]bool{".": true}, map[string]bool{}
		for _, n := range nodes {
			require.True(t, dirs[path.Dir(n.Path)], "%q is in no directory", n.Path)
			require.False(t, seen[n.Path], "%q is there twice", n.Path)
			require.False(t, path.IsAbs(n.Path) || n.Path == ".." || strings.HasPrefix(n.Path, "../"), "%q leads away", n.Path)
			seen[n.Path], dirs[n.Path] = true, n.Dir
		}
	})
}

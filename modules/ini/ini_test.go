package ini

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

var no = false

const continued = "/f:2: the value continues on the next line, which the type ini cannot read (use a resource of type line or replace)"

var edits = []struct {
	name   string
	ini    Ini
	have   string
	want   string // or the error
	action string
}{
	{"above the comment of the next section", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\nx=1\n# about t\n[t]\ny=1\n", "[s]\nx=1\na=2\n# about t\n[t]\ny=1\n", "added the option"},
	{"above a blank line and that comment", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\nx=1\n\n# about t\n[t]\n", "[s]\nx=1\na=2\n\n# about t\n[t]\n", "added the option"},
	{"above a section that is commented out", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\nx=1\n\n#[Install]\n#WantedBy=x\n", "[s]\nx=1\na=2\n\n#[Install]\n#WantedBy=x\n", "added the option"},
	{"below the last comment of the file", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\nx=1\n# about s\n\n", "[s]\nx=1\n# about s\na=2\n\n", "added the option"},
	{"a section without the comment of the next one", Ini{Ensure: "absent", Section: "s"}, "[r]\n[s]\nx=1\n\n# about t\n[t]\n", "[r]\n# about t\n[t]\n", "removed the section"},
	{"behind a byte order mark", Ini{Section: "s", Option: "a", Value: "2"}, "\ufeff[s]\r\na=1\r\n", "\ufeff[s]\r\na=2\r\n", "changed the option"},
	{"another value", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\na = 1\nb=1\n", "[s]\na = 2\nb=1\n", "changed the option"},
	{"that value", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\n  a=1  \n", "[s]\n  a=1  \n", ""},
	{"as it is written there", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\n\ta:1\n", "[s]\n\ta:2\n", "changed the option"},
	{"no value yet", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\nb = 1\na=\n", "[s]\nb = 1\na = 2\n", "changed the option"},
	{"added as the others of the section are written", Ini{Section: "s", Option: "a", Value: "2"}, "[r]\nx=1\n[s]\nb : 1\n\n[t]\n", "[r]\nx=1\n[s]\nb : 1\na : 2\n\n[t]\n", "added the option"},
	{"added as the others of the file are written", Ini{Section: "s", Option: "a", Value: "2"}, "[r]\nx=1\n[s]\n", "[r]\nx=1\n[s]\na=2\n", "added the option"},
	{"added as it is said", Ini{Section: "s", Option: "a", Value: "2", Separator: ": "}, "[r]\nx=1\n[s]\n", "[r]\nx=1\n[s]\na: 2\n", "added the option"},
	{"below one that is commented out", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\n; a=1\nb=1\n", "[s]\n; a=1\na=2\nb=1\n", "added the option"},
	{"a new section", Ini{Section: "s", Option: "a", Value: "2"}, "[r]\nx=1\n", "[r]\nx=1\n\n[s]\na=2\n", "added the option"},
	{"the first section", Ini{Section: "s", Option: "a", Value: "2"}, "", "[s]\na = 2\n", "added the option"},
	{"above all sections", Ini{Option: "a", Value: "2"}, "# top\nb=1\n\n[a]\na=1\n", "# top\nb=1\na=2\n\n[a]\na=1\n", "added the option"},
	{"no sections at all", Ini{Option: "a", Value: "2"}, "a=1\n", "a=2\n", "changed the option"},
	{"in a section that is there twice", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\na=1\n[t]\n[s]\nb=1\n", "[s]\na=2\n[t]\n[s]\nb=1\n", "changed the option"},
	{"there twice, with one value", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\na=1\nb=1\na=2\n", "[s]\na=2\nb=1\n", "changed the option"},
	{"in both sections of a name", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\na=1\n\n[s]\na=3\n\n[t]\n", "[s]\na=2\n\n[t]\n", "changed the option"},
	{"in both sections of a name, with more in the second", Ini{Section: "s", Option: "a", Value: "2"}, "[s]\na=1\n[t]\n[s]\na=3\n# b\n", "[s]\na=2\n[t]\n[s]\n# b\n", "changed the option"},
	{"absent in both sections of a name", Ini{Section: "s", Option: "a", Ensure: absent}, "[s]\na=1\n[t]\n[s]\na=2\n[u]\n[s]\n", "[s]\n[t]\n[u]\n[s]\n", "removed the option"},
	{"several values", Ini{Section: "s", Option: "a", Values: []string{"1", "2", "3"}}, "[s]\na=1\nb=1\na=9\nc=1\n", "[s]\na=1\nb=1\na=2\na=3\nc=1\n", "changed the option"},
	{"several values, indented", Ini{Section: `remote "x"`, Option: "fetch", Values: []string{"1", "2"}}, "[remote \"x\"]\n\tfetch = 1\n", "[remote \"x\"]\n\tfetch = 1\n\tfetch = 2\n", "changed the option"},
	{"several values, which are there", Ini{Section: "s", Option: "a", Values: []string{"1", "2"}}, "[s]\na=1\n#\na=2\n", "[s]\na=1\n#\na=2\n", ""},
	{"one more value", Ini{Section: "s", Option: "a", Value: "2", Exclusive: &no}, "[s]\na=1\n", "[s]\na=1\na=2\n", "changed the option"},
	{"one of several", Ini{Section: "s", Option: "a", Value: "2", Exclusive: &no}, "[s]\na=1\na=2\n", "[s]\na=1\na=2\n", ""},
	{"a word", Ini{Section: "mysqld", Option: "skip-networking", Bare: true}, "[mysqld]\nport=1\n", "[mysqld]\nport=1\nskip-networking\n", "added the option"},
	{"a word that has a value", Ini{Section: "s", Option: "a", Bare: true}, "[s]\na = 1\n", "[s]\na\n", "changed the option"},
	{"a value where there is a word", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\nb=1\na\n", "[s]\nb=1\na=1\n", "changed the option"},
	{"a word that is there", Ini{Section: "s", Option: "a", Bare: true}, "[s]\n a \n", "[s]\n a \n", ""},
	{"not longer names", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\nab=1\na b=1\n", "[s]\nab=1\na b=1\na=1\n", "added the option"},
	{"not comments", Ini{Section: "s", Option: "a", Value: "1"}, "#[s]\n#a=1\n", "#[s]\n#a=1\n\n[s]\na = 1\n", "added the option"},
	{"a header with a comment", Ini{Section: "s", Option: "a", Value: "1"}, " [ s ] ; here\na=2\n", " [ s ] ; here\na=1\n", "changed the option"},
	{"an empty value", Ini{Section: "s", Option: "a"}, "[s]\na=2\n", "[s]\na=\n", "changed the option"},
	{"line ends of Windows", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\r\nb=1\r\n", "[s]\r\nb=1\r\na=1\r\n", "added the option"},
	{"no line end", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\nb=1", "[s]\nb=1\na=1", "added the option"},
	{"a backslash", Ini{Section: "s", Option: "a", Value: "1"}, "[s]\na=1 \\\n  2\n", continued, ""},
	{"a backslash at another option", Ini{Section: "s", Option: "b", Value: "1"}, "[s]\na=1 \\\n  2\nb=2\n", "[s]\na=1 \\\n  2\nb=1\n", "changed the option"},
	{"an indented line", Ini{Section: "s", Option: "a", Ensure: absent}, "[s]\na=1\n  2\n", continued, ""},
	{"absent", Ini{Section: "s", Option: "a", Ensure: absent}, "[s]\na=1\n#a=1\na=2\nb=1\n", "[s]\n#a=1\nb=1\n", "removed the option"},
	{"absent, one of several", Ini{Section: "s", Option: "a", Value: "1", Exclusive: &no, Ensure: absent}, "[s]\na=1\na=2\n", "[s]\na=2\n", "removed the option"},
	{"absent, and not there", Ini{Section: "s", Option: "a", Ensure: absent}, "[t]\na=1\n", "[t]\na=1\n", ""},
	{"no section", Ini{Section: "s", Ensure: absent}, "[s]\na=1\n\n[t]\nb=1\n[s]\n", "[t]\nb=1\n", "removed the section"},
}

func TestEdit(t *testing.T) {
	for _, test := range edits {
		t.Run(test.name, func(t *testing.T) {
			i := test.ini
			i.Name = "/f"
			require.NoError(t, i.Validate())
			text := edit.Parse(test.have)
			done, err := i.edit(text)
			if err != nil {
				require.EqualError(t, err, test.want)
				return
			}
			require.Equal(t, test.want, text.String())
			require.Equal(t, test.action, done.Action)
			done, err = i.edit(edit.Parse(text.String()))
			require.NoError(t, err)
			require.Equal(t, edit.Done{}, done)
		})
	}
}

// FuzzEdit uses any option in any file: a second run changes nothing.
func FuzzEdit(f *testing.F) {
	for _, e := range edits {
		f.Add(e.have, e.ini.Ensure, e.ini.Section, e.ini.Option, e.ini.Value, e.ini.Separator, e.ini.Bare, e.ini.Exclusive == nil)
	}
	f.Fuzz(func(t *testing.T, file, ensure, section, option, value, separator string, bare, exclusive bool) {
		i := Ini{Name: "/f", Ensure: ensure, Section: section, Option: option, Value: value, Separator: separator, Bare: bare, Exclusive: &exclusive}
		modules.SetDefaults(&i)
		if modules.CheckTags(&i) != nil || i.Validate() != nil {
			return
		}
		text := edit.Parse(file)
		if _, err := i.edit(text); err != nil {
			require.Equal(t, file, text.String())
			return
		}
		again := edit.Parse(text.String())
		done, err := i.edit(again)
		require.NoError(t, err, "%q", text)
		require.Equal(t, edit.Done{}, done, "%q", text)
		require.Equal(t, text.String(), again.String())
	})
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Ini]{
		{Name: "an option", Of: Ini{Name: "/a", Section: "s", Option: "o", Value: "v"}},
		{Name: "several values", Of: Ini{Name: "n", Path: "/a", Option: "o", Values: []string{"v", "w"}}},
		{Name: "no section", Of: Ini{Name: "/a", Section: "s", Ensure: absent}},
		{Name: "no path", Of: Ini{Name: "a", Option: "o"}, Err: `path: "path" is missing, and the name of the resource is not the path of a file (write the path of the file, such as path: /etc/hosts)`},
		{Name: "no option", Of: Ini{Name: "/a", Section: "s"}, Err: `option: "option" cannot be empty`},
		{Name: "nothing is absent", Of: Ini{Name: "/a", Ensure: absent}, Err: `option: ensure: absent needs "option" or "section" (write "option", or "section" for a whole section)`},
		{Name: "a value of nothing", Of: Ini{Name: "/a", Section: "s", Value: "v", Ensure: absent}, Err: `value: "value" needs "option"`},
		{Name: "brackets", Of: Ini{Name: "/a", Section: "[s]", Option: "o"}, Err: `section: section "[s]" has a bracket, or blanks around it`},
		{Name: "an equals sign", Of: Ini{Name: "/a", Option: "o=1"}, Err: `option: option "o=1" begins with one of [, # and ;, has a = or blanks around it`},
		{Name: "a comment", Of: Ini{Name: "/a", Option: "#o"}, Err: `option: option "#o" begins with one of [, # and ;, has a = or blanks around it`},
		{Name: "value and values", Of: Ini{Name: "/a", Option: "o", Value: "v", Values: []string{"w"}}, Err: "values: 'value' and 'values' are mutually exclusive"},
		{Name: "no values", Of: Ini{Name: "/a", Option: "o", Values: []string{}}, Err: `values: "values" cannot be empty (ensure: absent removes an option)`},
		{Name: "a bare value", Of: Ini{Name: "/a", Option: "o", Value: "v", Bare: true}, Err: "bare: 'bare: true' is only valid without a value"},
		{Name: "two lines", Of: Ini{Name: "/a", Option: "o", Values: []string{"v", "w\nx"}}, Err: `values[1]: "values[1]" must be one line, without NUL bytes`},
		{Name: "blanks", Of: Ini{Name: "/a", Option: "o", Value: " v"}, Err: `value: " v" cannot be stored as one value: it begins or ends with a blank, or ends with a backslash`},
		{Name: "separator", Of: Ini{Name: "/a", Option: "o", Value: "v", Separator: " "}, Err: `separator: separator " " is not = or :, optionally with blanks around it`},
		{Name: "no create", Of: Ini{Name: "/a", Option: "o", Mode: "0644"}, Err: "mode: mode is only valid with 'create: true' (a file that is there keeps its own; a file resource changes it)"},
	})
}

func TestConverges(t *testing.T) {
	conf := modtest.Node{Path: "f", Text: "# of ours\n[a]\nx=1\n\n[b]\ny=1\ny=2\n", Mode: 0o640}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "another value", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"2"}`,
			Action: "changed the option", Changes: []modules.Change{{Property: "x", Have: "1", Want: "2"}},
		},
		{
			Name: "several values", Tree: []modtest.Node{conf}, Properties: `{"name":"n","path":"$ROOT/f","section":"b","option":"y","values":["2","3"]}`,
			Action: "changed the option", Changes: []modules.Change{{Property: "y", Have: `["1" "2"]`, Want: `["2" "3"]`}},
		},
		{Name: "as it shall be", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1"}`},
		{
			Name: "a new section", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"c","option":"z","bare":true}`,
			Action: "added the option", Changes: []modules.Change{{Property: "z", Have: "absent", Want: "without a value"}},
		},
		{
			Name: "no option", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"a","option":"x","ensure":"absent"}`,
			Action: "removed the option", Changes: []modules.Change{{Property: "x", Have: "1", Want: "absent"}},
		},
		{
			Name: "no section", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"b","ensure":"absent"}`,
			Action: "removed the section", Changes: edit.Ensured(present, absent),
		},
		{
			Name: "approved", Tree: []modtest.Node{conf}, Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"2","validate":"grep -qx x=2 %s"}`,
			Action: "changed the option", Changes: []modules.Change{{Property: "x", Have: "1", Want: "2"}},
		},
		{
			Name: "a new file", Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1","create":true,"owner":"$UID","group":"$GID","mode":"0600"}`,
			Action: "created the file", Changes: []modules.Change{{Property: "x", Have: "absent", Want: "1"}},
		},
		{Name: "no file and no option", Properties: `{"name":"$ROOT/d/f","section":"a","option":"x","ensure":"absent"}`},
		{
			Name: "no file", Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1"}`,
			Err: "$ROOT/f is not there (set 'create: true', or make it with a file resource)",
		},
	}...)
}

func TestPredicts(t *testing.T) {
	types := modules.Registry{file.Type(), exec.Type(), Type()}
	owned := `,"owner":"$UID","group":"$GID","mode":"0644"`
	for _, s := range []modtest.Scenario{
		{
			Name: "options of a file that is made, and the file as they left it",
			Steps: []modtest.Step{
				{Type: "ini", Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1"}`},
				{Type: "file", Properties: `{"name":"$ROOT/f","content":"[a]\n"` + owned + `}`},
				{Type: "ini", Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1"}`},
				{Type: "ini", Properties: `{"name":"2","path":"$ROOT/f","section":"a","option":"x","value":"1"}`},
				{Type: "ini", Properties: `{"name":"$ROOT/f","section":"a","option":"x","ensure":"absent"}`},
				{Type: "file", Properties: `{"name":"$ROOT/f","content":"[a]\n"` + owned + `}`},
			},
			Want: []string{"failed", "changed", "changed", "stable", "changed", "stable"},
		},
		{
			Name: "behind a command",
			Tree: []modtest.Node{{Path: "f", Text: "[a]\n"}},
			Steps: []modtest.Step{
				{Type: "exec", Properties: `{"name":"true"}`},
				{Type: "ini", Properties: `{"name":"$ROOT/f","section":"a","option":"x","value":"1"}`},
			},
			Want: []string{"changed likely", "changed unknown"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "[a]\nx=1\nx=2\n"}})
	path := root + "/f"
	for properties, want := range map[string]string{
		`"section":"a","option":"x"`: `"ensure":"present","section":"a","option":"x","values":["1","2"]`,
		`"section":"a","option":"y"`: `"ensure":"absent","section":"a","option":"y"`,
		`"section":"a"`:              `"ensure":"present","section":"a"`,
		`"section":"b"`:              `"ensure":"absent","section":"b"`,
	} {
		res := modtest.Decode(t, modules.Registry{Type()}, "ini", `{"name":"$ROOT/f","ensure":"absent",`+properties+`}`, root)
		modtest.Describes(t, modtest.Host(), res, `{"name":"`+path+`","path":"`+path+`",`+want+`}`)
		sources, err := res.(modules.Watcher).Watch(t.Context(), modtest.Host())
		require.NoError(t, err)
		require.Equal(t, modules.Sources{Paths: []string{path}}, sources)
	}
}

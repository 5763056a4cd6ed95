//go:build unix

package file_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestValidatedConverges(t *testing.T) {
	// looks checks that the file has its mode, a name that its directory ignores, and its text.
	const looks = `"validate":"sh -c 'test -n \"$(find \"$1\" -perm 640 -name \".*.*\")\" && grep -qx new \"$1\"' sh '%s'"`
	modtest.Converges(t, file.Type(),
		modtest.Fixture{
			Name: "new", Properties: own(`"name":"$ROOT/a b","mode":"0640","content":"new\n",` + looks), Action: "created the file",
			Changes: []modules.Change{{Property: "ensure", Have: "absent", Want: "present"}, {Property: "content", Have: "absent", Want: digest("new\n")}},
		},
		modtest.Fixture{
			Name: "other content", Properties: own(`"name":"$ROOT/f","mode":"0640","content":"new\n",` + looks), Action: "updated the file",
			Tree:    []modtest.Node{{Path: "f", Text: "old\n", Mode: 0o640}},
			Changes: []modules.Change{{Property: "content", Have: digest("old\n"), Want: digest("new\n")}},
		},
		modtest.Fixture{
			Name: "stable", Properties: own(`"name":"$ROOT/f","mode":"0640","content":"new\n","validate":"false %s"`),
			Tree: []modtest.Node{{Path: "f", Text: "new\n", Mode: 0o640}},
		},
		modtest.Fixture{
			Name: "mode only", Properties: own(`"name":"$ROOT/f","mode":"0640","content":"new\n","validate":"false %s"`), Action: "updated attributes",
			Tree:    []modtest.Node{{Path: "f", Text: "new\n", Mode: 0o600}},
			Changes: []modules.Change{{Property: "mode", Have: "0600", Want: "0640"}},
		},
	)
}

func TestValidateRefuses(t *testing.T) {
	for _, test := range []struct {
		name, validate, text, stdout, stderr string
	}{
		{"no", "sh -c 'echo out; echo \"$1:1: bad\" >&2; echo failed >&2; exit 3' sh %s", `the command of "validate" exited with status 3, so the file was not written: $ROOT/d/f:1: bad`, "out\n", "$ROOT/d/f:1: bad\nfailed\n"},
		{"says nothing", "false %s", `the command of "validate" exited with status 1, so the file was not written`, "", ""},
		{"killed", "sh -c 'kill -9 $$' sh %s", `the command of "validate" exited with status 137, so the file was not written`, "", ""},
		{"not there", "no-such-program %s", `validate: "no-such-program" is not found in ` + modules.DefaultPath, "", ""},
		{"writes", "sh -c 'echo x >\"$1\"; touch -t 200001010000 \"$1\"' sh %s", `the file changed while the command of "validate" was running`, "", ""},
		{"replaces", "sh -c 'rm \"$1\" && echo new >\"$1\"' sh %s", `the file changed while the command of "validate" was running`, "", ""},
		{"removes", "rm %s", `the file changed while the command of "validate" was running`, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "old\n"}})
			before := modtest.State(t, root)
			properties := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(own(`"mode":"0640","content":"new\n"`)), &properties))
			properties["name"], properties["validate"] = root+"/d/f", test.validate
			text, err := json.Marshal(properties)
			require.NoError(t, err)
			entry := wire.Entry{Type: "file", Name: "f", Properties: text}

			run := func(check bool) *wire.Result {
				types := modules.Registry{file.Type()}
				e := &engine.Engine{Host: modtest.Host(), Now: time.Now}
				e.Decode = func(entry *wire.Entry) (modules.Resource, error) { return types.Decode(entry.Type, entry.Properties) }
				var last *wire.Result
				_, err := e.Run(t.Context(), &wire.Catalog{Check: check, Entries: []wire.Entry{entry}}, func(r *wire.Result) error { last = r; return nil })
				require.NoError(t, err)
				return last
			}
			predicted := run(true)
			require.Equal(t, before, modtest.State(t, root), "a check run changes nothing")

			result := run(false)
			require.Equal(t, wire.Failed, result.Status)
			if test.name == "killed" {
				require.Equal(t, []any{wire.Changed, modules.Unknown, "file#f"}, []any{predicted.Status, predicted.Grade, predicted.Because})
			} else {
				require.Equal(t, []any{result.Status, modules.Certain, result.Error}, []any{predicted.Status, predicted.Grade, predicted.Error})
			}
			at := func(s string) string { return strings.ReplaceAll(s, "$ROOT", root) }
			require.Equal(t, at(test.text), result.Error)
			if test.stderr != "" {
				require.Equal(t, []string{at(test.stdout), at(test.stderr)}, []string{result.Exit.Stdout.Text, result.Exit.Stderr.Text})
			}
			require.Equal(t, before, modtest.State(t, root), "the file is as it was, and nothing is beside it")
		})
	}
}

// TestPredictsValidation runs the command in check runs, before and after other changes.
func TestPredictsValidation(t *testing.T) {
	types := modules.Registry{file.Type(), exec.Type(), line.Type()}
	tree := []modtest.Node{{Path: "d", Dir: true}, {Path: "d/sibling", Text: "x"}, {Path: "other", Text: "x"}, {Path: "lines", Text: "a\n"}}
	other := modtest.Step{Type: "file", Properties: own(`"name":"$ROOT/other","mode":"0644","content":"y"`)}
	command := modtest.Step{Type: "exec", Properties: `{"name":"true"}`}
	validated := func(validate, content string) modtest.Step {
		text, err := json.Marshal(validate)
		require.NoError(t, err)
		return modtest.Step{Type: "file", Properties: own(fmt.Sprintf(`"name":"$ROOT/d/f","mode":"0640","content":%q,"validate":%s`, content, text))}
	}
	edited := modtest.Step{Type: "line", Properties: `{"name":"$ROOT/lines","line":"b","validate":"grep -q b %s"}`}
	large := strings.Repeat("word ", modules.InlineLimit)
	for name, s := range map[string]modtest.Scenario{
		"nothing is pending":                   {Steps: []modtest.Step{validated("grep -q new %s", "new\n")}, Want: []string{"changed"}},
		"a large content":                      {Steps: []modtest.Step{validated("grep -q word %s", large)}, Want: []string{"changed"}},
		"an edited file":                       {Steps: []modtest.Step{edited}, Want: []string{"changed"}},
		"failure":                              {Steps: []modtest.Step{validated("grep -q old %s", "new\n")}, Want: []string{"failed"}},
		"another path":                         {Steps: []modtest.Step{other, validated("grep -q new %s", "new\n")}, Want: []string{"changed", "changed likely"}},
		"another path, and a failure":          {Steps: []modtest.Step{other, validated("grep -q old %s", "new\n")}, Want: []string{"changed", "changed unknown"}},
		"a path in the command":                {Steps: []modtest.Step{other, validated("cmp -s $ROOT/other %s", "y")}, Want: []string{"changed", "changed unknown"}},
		"a path in the content":                {Steps: []modtest.Step{other, validated("true %s", "include='$ROOT/oth*';")}, Want: []string{"changed", "changed likely"}},
		"a path in the content, and a failure": {Steps: []modtest.Step{other, validated("grep -q old %s", "$ROOT/other")}, Want: []string{"changed", "changed unknown"}},
		"a command":                            {Steps: []modtest.Step{command, validated("grep -q new %s", "new\n")}, Want: []string{"changed likely", "changed unknown"}},
		"a relative path":                      {Steps: []modtest.Step{validated("true %s", "include sibling")}, Want: []string{"changed likely"}},
		"a relative pattern":                   {Steps: []modtest.Step{validated("false %s", "include ./s*")}, Want: []string{"changed unknown"}},
		"no permission":                        {Steps: []modtest.Step{validated("sh -c 'echo Permission denied; false' %s", "x")}, Want: []string{"changed unknown"}},
	} {
		s.Name, s.Tree = name, tree
		t.Run(name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

// TestValidateWhereOthersMayWrite uses a directory in which another user could exchange the file that the command
// checks.
func TestValidateWhereOthersMayWrite(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true, Mode: 0o777}})
	res := modtest.Decode(t, modules.Registry{file.Type()}, "file", own(`"name":"$ROOT/d/f","mode":"0640","content":"new\n","validate":"true %s"`), root)
	_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "validate: another user could replace the file "+root+"/d/f during the check: everybody can change "+root+"/d; run as the owner of the directory")
}

const validatedEnv = "CCM_VALIDATED"

// TestKilledWhileValidated kills the program while the command runs. The next run removes the leftovers.
func TestKilledWhileValidated(t *testing.T) {
	apply := func(root, validate string) error {
		res := modtest.Decode(t, modules.Registry{file.Type()}, "file", own(`"name":"$ROOT/d/f","mode":"0640","content":"new\n","validate":"`+validate+`"`), root)
		plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		return res.Apply(t.Context(), modtest.Host(), plan)
	}
	if root := os.Getenv(validatedEnv); root != "" {
		_ = apply(root, "cat $ROOT/begun %s")
		return
	}
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "old\n"}})
	require.NoError(t, syscall.Mkfifo(root+"/begun", 0o600))
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileValidated$")
	cmd.Env = append(os.Environ(), validatedEnv+"="+root)
	require.NoError(t, cmd.Start())
	begun, err := os.OpenFile(root+"/begun", os.O_WRONLY, 0) // waits for cat
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, begun.Close())
	left, err := filepath.Glob(root + "/d/.*")
	require.NoError(t, err)
	require.Len(t, left, 1)
	text, err := os.ReadFile(root + "/d/f")
	require.NoError(t, err)
	require.Equal(t, "old\n", string(text))

	require.NoError(t, apply(root, "grep -q new %s"))
	names, err := os.ReadDir(root + "/d")
	require.NoError(t, err)
	require.Len(t, names, 1)
}

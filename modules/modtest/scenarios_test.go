package modtest_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// file and exec shorten the steps below.
func file(properties string) modtest.Step {
	return modtest.Step{Type: "file", Properties: `{"owner":"$UID","group":"$GID","mode":"0644",` + properties + `}`}
}

func absent(properties string) modtest.Step {
	return modtest.Step{Type: "file", Properties: `{"ensure":"absent",` + properties + `}`}
}

func exec(properties string) modtest.Step {
	return modtest.Step{Type: "exec", Properties: `{` + properties + `}`}
}

func requires(s modtest.Step, steps ...int) modtest.Step {
	s.Require = steps
	return s
}

func subscribes(s modtest.Step, steps ...int) modtest.Step {
	s.Subscribe = steps
	return s
}

// TestForesees chains files and commands. A command that would run is always
// uncertain, since nobody knows whether it will succeed, and so is what rests
// on it.
func TestForesees(t *testing.T) {
	old := modtest.Node{Path: "conf", Text: "old"}
	for _, s := range []modtest.Scenario{
		{
			Name:  "directory, then a file in it",
			Steps: []modtest.Step{file(`"name":"$ROOT/d","ensure":"directory"`), file(`"name":"$ROOT/d/f","content":"x"`)},
			Want:  []string{"changed", "changed"},
		},
		{
			Name:  "the same file twice",
			Steps: []modtest.Step{file(`"name":"$ROOT/f","content":"x"`), file(`"name":"$ROOT/f","content":"x"`)},
			Want:  []string{"changed", "stable"},
		},
		{
			Name:  "remove a directory, then a file below it",
			Tree:  []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "x"}},
			Steps: []modtest.Step{absent(`"name":"$ROOT/d","force":true`), file(`"name":"$ROOT/d/f","content":"x"`)},
			Want:  []string{"changed", "failed"},
		},
		{
			Name:  "empty a directory, then remove it",
			Tree:  []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "x"}},
			Steps: []modtest.Step{absent(`"name":"$ROOT/d/f"`), absent(`"name":"$ROOT/d"`)},
			Want:  []string{"changed", "changed"},
		},
		{
			Name:  "fill a directory, then remove it",
			Tree:  []modtest.Node{{Path: "d", Dir: true}},
			Steps: []modtest.Step{file(`"name":"$ROOT/d/f","content":"x"`), absent(`"name":"$ROOT/d"`)},
			Want:  []string{"changed", "failed"},
		},
		{
			Name:  "write through a link to a directory",
			Tree:  []modtest.Node{{Path: "d", Dir: true}, {Path: "l", Link: "d"}},
			Steps: []modtest.Step{file(`"name":"$ROOT/l/f","content":"x"`), file(`"name":"$ROOT/d/f","content":"x"`)},
			Want:  []string{"changed", "stable"},
		},
		{
			Name:  "the file that a command creates is made by a file",
			Steps: []modtest.Step{file(`"name":"$ROOT/done","content":""`), exec(`"name":"false","creates":"$ROOT/done"`)},
			Want:  []string{"changed", "stable"},
		},
		{
			Name: "a command makes the directory that a file needs",
			Steps: []modtest.Step{
				exec(`"name":"mkdir $ROOT/d","creates":"$ROOT/d"`),
				file(`"name":"$ROOT/d/f","content":"x"`),
				file(`"name":"$ROOT/g","content":"x"`),
			},
			Want: []string{"changed uncertain", "changed uncertain", "changed uncertain"},
		},
		{
			Name:  "a command that has made its file",
			Tree:  []modtest.Node{{Path: "d", Dir: true}},
			Steps: []modtest.Step{exec(`"name":"false","creates":"$ROOT/d"`), file(`"name":"$ROOT/d/f","content":"x"`)},
			Want:  []string{"stable", "changed"},
		},
		{
			Name:  "creates is a link to nothing",
			Tree:  []modtest.Node{{Path: "l", Link: "nothing"}},
			Steps: []modtest.Step{exec(`"name":"touch $ROOT/nothing","creates":"$ROOT/l"`), exec(`"name":"false","creates":"$ROOT/l"`)},
			Want:  []string{"changed uncertain", "stable uncertain"},
		},
		{
			Name: "a refresh",
			Tree: []modtest.Node{old},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/conf","content":"new"`),
				subscribes(exec(`"name":"touch $ROOT/reloaded","refreshonly":true`), 0),
			},
			Want: []string{"changed", "changed refreshed uncertain"},
		},
		{
			Name: "a refresh in spite of guards",
			Tree: []modtest.Node{old},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/conf","content":"new"`),
				subscribes(exec(`"name":"touch $ROOT/reloaded","creates":"$ROOT/conf","unless":"true","onlyif":"false"`), 0),
			},
			Want: []string{"changed", "changed refreshed uncertain"},
		},
		{
			Name: "nothing to refresh for",
			Tree: []modtest.Node{old},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/missing/conf","content":"new"`),
				subscribes(exec(`"name":"touch $ROOT/reloaded","refreshonly":true`), 0),
			},
			Want: []string{"failed", "stable"},
		},
		{
			Name: "a command that fails, and what requires it",
			Steps: []modtest.Step{
				exec(`"name":"false"`),
				requires(file(`"name":"$ROOT/f","content":"x"`), 0),
				file(`"name":"$ROOT/g","content":"x"`),
			},
			Want: []string{"changed uncertain", "changed uncertain", "changed uncertain"},
		},
		{
			Name: "requirements chain",
			Steps: []modtest.Step{
				file(`"name":"$ROOT/missing/f","content":"x"`),
				requires(file(`"name":"$ROOT/f","content":"x"`), 0),
				requires(exec(`"name":"touch $ROOT/g"`), 1),
				file(`"name":"$ROOT/h","content":"x"`),
			},
			Want: []string{"failed", "skipped", "skipped", "changed"},
		},
		{
			Name:        "the first failure ends the run",
			Steps:       []modtest.Step{file(`"name":"$ROOT/missing/f","content":"x"`), file(`"name":"$ROOT/f","content":"x"`)},
			FailOnError: true,
			Want:        []string{"failed"},
		},
		{
			Name: "guards while nothing is pending",
			Steps: []modtest.Step{
				exec(`"name":"touch $ROOT/a","unless":"true"`),
				exec(`"name":"touch $ROOT/b","onlyif":"false"`),
				exec(`"name":"touch $ROOT/c","onlyif":"no-such-program-anywhere"`),
			},
			Want: []string{"stable", "stable", "failed"},
		},
		{
			Name: "guards while something is pending",
			Steps: []modtest.Step{
				file(`"name":"$ROOT/f","content":"x"`),
				exec(`"name":"touch $ROOT/g","unless":"test -e $ROOT/f"`),
				exec(`"name":"touch $ROOT/g","onlyif":"no-such-program-anywhere"`),
			},
			Want: []string{"changed", "changed uncertain", "changed uncertain"},
		},
		{
			Name: "an account that a command might make",
			Steps: []modtest.Step{
				exec(`"name":"touch $ROOT/user-made"`),
				{Type: "file", Properties: `{"name":"$ROOT/f","owner":"no-such-user-anywhere","group":"0","mode":"0644"}`},
			},
			Want: []string{"changed uncertain", "changed uncertain"},
		},
		{
			Name: "an account that does not exist",
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/f","owner":"no-such-user-anywhere","group":"0","mode":"0644"}`},
			},
			Want: []string{"failed"},
		},
		{
			Name:  "properties that are no good",
			Steps: []modtest.Step{file(`"name":"$ROOT/f","content":"x","source":"y"`), exec(`"name":"echo 'half"`)},
			Want:  []string{"failed", "failed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Foresees(t, builtin.Types(), s) })
	}
}

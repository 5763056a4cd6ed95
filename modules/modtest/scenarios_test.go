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

func noop(s modtest.Step) modtest.Step {
	s.Noop = true
	return s
}

// TestPredicts chains files and commands. A command that would run is always uncertain, since its success is unknown,
// and so is every resource that depends on it.
func TestPredicts(t *testing.T) {
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
			Want: []string{"changed likely", "changed unknown", "changed unknown"},
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
			Want:  []string{"changed likely", "stable unknown"},
		},
		{
			Name: "a refresh",
			Tree: []modtest.Node{old},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/conf","content":"new"`),
				subscribes(exec(`"name":"touch $ROOT/reloaded","refreshonly":true`), 0),
			},
			Want: []string{"changed", "changed refreshed likely"},
		},
		{
			Name: "a refresh in spite of guards",
			Tree: []modtest.Node{old},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/conf","content":"new"`),
				subscribes(exec(`"name":"touch $ROOT/reloaded","creates":"$ROOT/conf","unless":"true","onlyif":"false"`), 0),
			},
			Want: []string{"changed", "changed refreshed unknown"},
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
			Want: []string{"changed likely", "changed unknown", "changed unknown"},
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
			Want:        []string{"failed", "skipped"},
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
			Want: []string{"changed", "changed unknown", "changed unknown"},
		},
		{
			Name: "an account that a command might make",
			Steps: []modtest.Step{
				exec(`"name":"touch $ROOT/user-made"`),
				{Type: "file", Properties: `{"name":"$ROOT/f","owner":"no-such-user-anywhere","group":"0","mode":"0644"}`},
			},
			Want: []string{"changed likely", "changed unknown"},
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
		{
			Name:  "through a link that a noop step would remove",
			Tree:  []modtest.Node{{Path: "d", Dir: true}, {Path: "l", Link: "d"}},
			Steps: []modtest.Step{noop(absent(`"name":"$ROOT/l"`)), file(`"name":"$ROOT/l/f","content":"x"`), noop(absent(`"name":"$ROOT/d/f"`))},
			Want:  []string{"changed", "changed", "changed"},
		},
		{
			Name: "a file with two names",
			Tree: []modtest.Node{old, {Path: "other", Same: "conf"}},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/f","content":"x"`),
				{Type: "file", Properties: `{"name":"$ROOT/conf","owner":"$UID","group":"$GID","mode":"0600"}`},
				{Type: "file", Properties: `{"name":"$ROOT/other","owner":"$UID","group":"$GID","mode":"0600"}`},
			},
			Want: []string{"changed", "changed likely", "changed unknown"},
		},
		{
			Name:  "one of two names is written again",
			Tree:  []modtest.Node{old, {Path: "other", Same: "conf"}},
			Steps: []modtest.Step{file(`"name":"$ROOT/conf","content":"new"`), absent(`"name":"$ROOT/other"`)},
			Want:  []string{"changed", "changed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, builtin.Types(), s) })
	}
}

// TestPredictsRefusals is about what an ordinary user may not do: a check run
// has to say so.
func TestPredictsRefusals(t *testing.T) { modtest.AsOrdinaryUser(t, predictsRefusals) }

func predictsRefusals(t *testing.T) {
	closed := modtest.Node{Path: "closed", Dir: true, Mode: 0o555}
	inClosed := modtest.Node{Path: "closed/f", Text: "x"}
	conf := modtest.Node{Path: "conf", Text: "old"}
	roots := func(properties string) modtest.Step {
		return modtest.Step{Type: "file", Properties: `{"owner":"root","group":"$GID","mode":"0644",` + properties + `}`}
	}
	for _, s := range []modtest.Scenario{
		{
			Name:  "a file in a directory that may not be written in",
			Tree:  []modtest.Node{closed},
			Steps: []modtest.Step{file(`"name":"$ROOT/closed/f","content":"x"`), file(`"name":"$ROOT/f","content":"x"`)},
			Want:  []string{"failed", "changed"},
		},
		{
			Name: "what is in a directory that may not be written in",
			Tree: []modtest.Node{closed, inClosed},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/closed/f","content":"x"`),
				{Type: "file", Properties: `{"name":"$ROOT/closed/f","owner":"$UID","group":"$GID","mode":"0600"}`},
				file(`"name":"$ROOT/closed/f","content":"y"`),
				absent(`"name":"$ROOT/closed/f"`),
				absent(`"name":"$ROOT/closed","force":true`),
				file(`"name":"$ROOT/closed/d","ensure":"directory"`),
			},
			Want: []string{"stable", "changed", "failed", "failed", "failed", "failed"},
		},
		{
			Name: "the directory is opened first",
			Tree: []modtest.Node{closed, inClosed},
			Steps: []modtest.Step{
				file(`"name":"$ROOT/closed","ensure":"directory"`),
				file(`"name":"$ROOT/closed/f","content":"y"`),
				absent(`"name":"$ROOT/closed","force":true`),
			},
			Want: []string{"changed", "changed", "changed"},
		},
		{
			Name:  "an empty directory that may not be written in",
			Tree:  []modtest.Node{closed},
			Steps: []modtest.Step{absent(`"name":"$ROOT/closed"`)},
			Want:  []string{"changed"},
		},
		{
			Name:  "a tree with a directory that may not be written in",
			Tree:  []modtest.Node{{Path: "d", Dir: true}, {Path: "d/first", Text: "x"}, {Path: "d/sub", Dir: true, Mode: 0o500}, {Path: "d/sub/f", Text: "x"}},
			Steps: []modtest.Step{absent(`"name":"$ROOT/d","force":true`), absent(`"name":"$ROOT/d/first"`)},
			Want:  []string{"failed", "changed"},
		},
		{
			Name: "files for root",
			Tree: []modtest.Node{conf},
			Steps: []modtest.Step{
				roots(`"name":"$ROOT/conf"`),
				roots(`"name":"$ROOT/conf","content":"new"`),
				roots(`"name":"$ROOT/f","content":"x"`),
				roots(`"name":"$ROOT/d/e","ensure":"directory"`),
			},
			Want: []string{"failed", "failed", "failed", "failed"},
		},
		{
			Name: "files for a group of others",
			Tree: []modtest.Node{conf},
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/conf","owner":"$UID","group":"0","mode":"0644"}`},
				{Type: "file", Properties: `{"name":"$ROOT/f","owner":"$UID","group":"0","mode":"0644"}`},
			},
			Want: []string{"failed", "failed"},
		},
		{
			Name: "a file that only root may read again",
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/f","content":"x","owner":"$UID","group":"$GID","mode":"0200"}`},
				{Type: "file", Properties: `{"name":"$ROOT/a/b","ensure":"directory","owner":"$UID","group":"$GID","mode":"0000"}`},
			},
			Want: []string{"changed likely", "changed unknown"},
		},
		{
			Name: "a directory is shut before it is used",
			Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/sub", Dir: true}, {Path: "d/sub/f", Text: "x"}},
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/d","ensure":"directory","owner":"$UID","group":"$GID","mode":"0000"}`},
				file(`"name":"$ROOT/d/sub/f","content":"x"`),
				file(`"name":"$ROOT/d/g","content":"x"`),
				absent(`"name":"$ROOT/d","force":true`),
			},
			Want: []string{"changed", "stable unknown", "changed unknown", "changed unknown"},
		},
		{
			Name: "what nobody may read is opened before it is used",
			Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o100}, {Path: "d/f", Text: "x", Mode: 0o200}},
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/d/f","owner":"$UID","group":"$GID","mode":"0644"}`},
				file(`"name":"$ROOT/d/f","content":"x"`),
				file(`"name":"$ROOT/d","ensure":"directory"`),
				absent(`"name":"$ROOT/d","force":true`),
			},
			Want: []string{"changed", "changed unknown", "changed likely", "changed unknown"},
		},
		{
			Name:  "the file of somebody else",
			Steps: []modtest.Step{{Type: "file", Properties: `{"name":"/","ensure":"directory","owner":"$UID","group":"$GID","mode":"0755"}`}},
			Want:  []string{"failed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, builtin.Types(), s) })
	}
}

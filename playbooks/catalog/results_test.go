package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// said is the result of a command that has printed something.
func said(text string) *wire.Result {
	return &wire.Result{Status: wire.Changed, Exit: &modules.Exit{Stdout: modules.Output{Text: text}}}
}

// awaiting shows entries with the entries that they await, and where the stage ends.
func awaiting(c *Compiled) string {
	var all []string
	for i, e := range c.Catalog.Entries {
		line := show([]wire.Entry{e})
		if i == c.Catalog.Until && i > 0 {
			line = "| " + line
		}
		for _, k := range e.Awaits {
			line += " awaits " + c.Catalog.Entries[k].Ref()
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

func TestStages(t *testing.T) {
	for _, tc := range []struct {
		name, manifest, first string
		results               []*wire.Result
		next                  string
	}{
		{
			"a property, a name and control", play("- exec: [{a: {register: x}}, {b: }, {\"c {{ Results.x.stdout_trimmed }}\": }, {d: {control: {if: Results.x.stdout contains 'no'}, require: [exec#a]}}, {e: {subscribe: [exec#a]}}]"),
			"exec#a\nexec#b\n| exec#c {{ Results.x.stdout_trimmed }} awaits exec#a\nexec#d require[0] awaits exec#a\nexec#e subscribe[0]",
			[]*wire.Result{said("yes\n")},
			"exec#a\nexec#b\nexec#c yes\nexec#d excluded\nexec#e subscribe[0]",
		},
		{
			"lines are a list", play("- exec: [{a: {register: x}}, {\"do {{ Item }}\": {each: \"{{ Results.x.stdout_lines }}\", alias: all}}, {z: {require: [exec#all]}}]"),
			"exec#a\n| exec#do {{ Item }} awaits exec#a\nexec#z",
			[]*wire.Result{said("one\ntwo\r\n")},
			"exec#a\nexec#do one(all)\nexec#do two(all)\nexec#z require[1 2]",
		},
		{
			"an each registers a list", play("- exec: [{\"{{ Item }}\": {each: [a, b], register: x, control: {if: Item == 'b'}}}, {\"{{ Results.x[1].item }}{{ Results.x[0].skipped }}{{ Results.x[1].changed }}\": }]"),
			"exec#a excluded\nexec#b\n| exec#{{ Results.x[1].item }}{{ Results.x[0].skipped }}{{ Results.x[1].changed }} awaits exec#b",
			[]*wire.Result{nil, said("")},
			"exec#a excluded\nexec#b\nexec#btruetrue",
		},
		{
			"what is excluded is known at once", play("- exec: [{a: {register: x, control: {if: 'false'}}}, {b: {control: {if: Results.x.skipped}}}]"),
			"exec#a excluded\nexec#b", nil, "",
		},
		{
			"the outcome of a prediction is known", play("- exec: [{a: {register: x}}, {b: {control: {if: Results.x.changed}}}, {\"{{ Results.x.stdout }}\": }]"),
			"exec#a\n| exec#b awaits exec#a\nexec#{{ Results.x.stdout }} awaits exec#a",
			[]*wire.Result{{Status: wire.Changed, Check: true}},
			"exec#a\nexec#b\nexec#{{ Results.x.stdout }} awaits exec#a",
		},
		{
			"an uncertain prediction is not", play("- exec: [{a: {register: x}}, {b: {control: {if: Results.x.changed}}}]"),
			"exec#a\n| exec#b awaits exec#a",
			[]*wire.Result{{Status: wire.Changed, Check: true, Grade: modules.Unknown}},
			"exec#a\nexec#b awaits exec#a",
		},
		{
			"a failure is a value", play("- exec: [{a: {register: x}}, {b: {control: {if: Results.x.failed && Results.x.exit_code == 3}}}]"),
			"exec#a\n| exec#b awaits exec#a",
			[]*wire.Result{{Status: wire.Failed, Exit: &modules.Exit{Code: 3}}},
			"exec#a\nexec#b",
		},
		{
			"sensitive results", play("- exec: [{a: {register: x, sensitive: true}}, {b: {environment: [\"A={{ Results.x.stdout }}\"]}}]"),
			"exec#a sensitive\n| exec#b sensitive awaits exec#a",
			[]*wire.Result{{Status: wire.Changed, Registered: &wire.Registered{Exit: &modules.Exit{Stdout: modules.Output{Text: "hunter2-hunter2"}}}}},
			"exec#a sensitive\nexec#b sensitive",
		},
		{
			"control of a block", play("- exec: [{a: {register: x}}]", "- {name: m, block: [{exec: [{b: {subscribe: [exec#a]}}, {\"c {{ Item }}\": {each: [1, 2]}}]}], control: {if: Results.x.changed}}"),
			"exec#a\n| exec#b subscribe[0] awaits exec#a\nexec#c 1 awaits exec#a\nexec#c 2 awaits exec#a\nblock#m",
			[]*wire.Result{{}},
			"exec#a\nblock#m excluded",
		},
		{
			"within a block, and its rescue", play("- {name: m, block: [{exec: [{a: {register: x}}, {b: {command: \"echo {{ Results.x.stdout }}\"}}]}], rescue: [{exec: [{c: {command: \"echo {{ Results.x.failed }}\"}}]}]}"),
			"exec#a\n| exec#b awaits exec#a\nexec#c awaits exec#a\nblock#m",
			[]*wire.Result{{Status: wire.Rescued}},
			"exec#a\nexec#b awaits exec#a\nexec#c\nblock#m",
		},
		{
			"of a skip because of a requirement", play("- {name: m, block: [{exec: [{a: {register: x}}, {b: {command: \"echo {{ Results.x.stdout }}\"}}]}], rescue: [{exec: [{c: {command: \"echo {{ Results.x.skipped }}\"}}]}]}"),
			"exec#a\n| exec#b awaits exec#a\nexec#c awaits exec#a\nblock#m",
			[]*wire.Result{{Status: wire.Skipped, Unmet: true}},
			"exec#a\nexec#b awaits exec#a\nexec#c\nblock#m",
		},
		{
			"templates are looked into", play("- exec: [{a: {register: x}}]", "- file: [{/f: {content: \"{{ jet('outer.jet') }}\", "+root+"}}, {/g: {content: \"{{ template('g.gotmpl') }}\", "+root+"}}]"),
			"exec#a\n| file#/f awaits exec#a\nfile#/g awaits exec#a",
			[]*wire.Result{said("v1")},
			"exec#a\nfile#/f\nfile#/g",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := compiler(t, tc.manifest, map[string]string{
				"outer.jet": "[[ include \"inner.jet\" ]]", "inner.jet": "[[ Results.x.stdout ]]", "g.gotmpl": "{{ .Results.x.stdout }}",
			}, Options{})
			first, err := c.Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, tc.first, awaiting(first))
			if tc.next == "" {
				require.Zero(t, first.Catalog.Until)
				return
			}
			require.Equal(t, first.Catalog.Until, first.Catalog.Fixed)
			with := web1
			with.Results = tc.results
			next, err := c.Next(t.Context(), first, with)
			require.NoError(t, err)
			require.Equal(t, tc.next, awaiting(next))
			require.Zero(t, next.Catalog.Until)
			require.Equal(t, first.Catalog.Until, next.Catalog.From)
			require.Equal(t, first.Catalog.Fixed, next.Catalog.Fixed)
		})
	}
}

// TestStageAfterStage has each stage use the results of the one before.
func TestStageAfterStage(t *testing.T) {
	c := compiler(t, play("- exec: [{a: {register: x}}, {b: {register: y, cwd: \"/{{ Results.x.stdout }}\"}}, {c: {cwd: \"/{{ Results.y.stdout }}{{ Results.x.stdout }}\"}}]"), nil, Options{})
	first, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, 1, first.Catalog.Until)
	with := web1
	with.Results = []*wire.Result{said("1")}
	second, err := c.Next(t.Context(), first, with)
	require.NoError(t, err)
	require.Equal(t, 2, second.Catalog.Until)
	require.Contains(t, string(second.Catalog.Entries[1].Properties), `"cwd":"/1"`)
	with.Results = append(with.Results, said("2"))
	third, err := c.Next(t.Context(), second, with)
	require.NoError(t, err)
	require.Equal(t, [3]int{0, 2, 1}, [3]int{third.Catalog.Until, third.Catalog.From, third.Catalog.Fixed})
	require.Contains(t, string(third.Catalog.Entries[2].Properties), `"cwd":"/21"`)
}

// TestResultsThatCannotBeUsed checks that errors are reported where such results are used.
func TestResultsThatCannotBeUsed(t *testing.T) {
	const manifest = "- exec: [{a: {register: x}}, {b: {cwd: \"/{{ Results.x.%s }}\"}}]"
	for _, tc := range []struct {
		field  string
		result *wire.Result
		want   string
	}{
		{"stdout", &wire.Result{Status: wire.Skipped}, "exec#a ran no command, so it has no output: it is skipped\n  hint: check first: Results.NAME.changed, or Results.NAME.skipped"},
		{"exit_code", &wire.Result{}, "exec#a ran no command, so it has no output: it is stable\n  hint: check first: Results.NAME.changed, or Results.NAME.skipped"},
		{"stdout_lines", &wire.Result{Status: wire.Changed, Exit: &modules.Exit{Stdout: modules.Output{Text: "a", Dropped: 9}}}, "exec#a wrote more to stdout than the 64 KiB that are kept, so it cannot be used\n  hint: make the command print less"},
		{"state", said(""), "missing key \"Results.x.state\""},
	} {
		c := compiler(t, play(strings.Replace(manifest, "%s", tc.field, 1)), nil, Options{})
		first, err := c.Compile(t.Context(), web1)
		require.NoError(t, err)
		with := web1
		with.Results = []*wire.Result{tc.result}
		_, err = c.Next(t.Context(), first, with)
		require.ErrorContains(t, err, tc.want)
		require.ErrorContains(t, err, "site.yaml:4:")
	}
}

// TestResultsAreTainted: what a host has printed may not choose what facts may not choose.
func TestResultsAreTainted(t *testing.T) {
	for _, lines := range [][]string{
		{"- exec: [{a: {register: x}}]", "- file: [{/f: {source: \"{{ Results.x.stdout }}\", " + root + "}}]"},
		{"- exec: [{a: {register: x}}]", "- file: [{/f: {content: \"{{ file(Results.x.stdout) }}\", " + root + "}}]"},
		{"- exec: [{a: {register: x}}, {\"b {{ Item }}\": {each: \"{{ Results.x.stdout_lines }}\", command: \"echo {{ file(Item) }}\"}}]"},
		{"- exec: [{a: {register: x}}]", "- apply: [{\"{{ Results.x.stdout }}\": }]"},
	} {
		plays, err := load.Parse(t.Context(), "site.yaml", []byte(play(lines...)), builtin.Types())
		if err == nil {
			plays[0].Folder = t.TempDir()
			_, err = New(plays[0], Options{})
		}
		require.ErrorContains(t, err, "data from a host cannot", lines)
	}
}

// TestResultsNotInData has data, which is there first, see no results.
func TestResultsNotInData(t *testing.T) {
	c := compiler(t, "data: {a: \"{{ Results.x.stdout }}\"}\nccm: {resources: [exec: [{a: {register: x}}, {\"{{ Data.a }}\": }]]}\n", nil, Options{})
	_, err := c.Compile(t.Context(), web1)
	require.ErrorContains(t, err, `site.yaml:1:15: "Results" is not available here: only resources see the results of others, and only where one has the key "register"`)
}

// TestStageOfChance refuses a next stage whose first resources are others.
func TestStageOfChance(t *testing.T) {
	before := &Compiled{Catalog: wire.Catalog{Until: 1, Entries: []wire.Entry{{Type: "exec", Name: "a"}, {}}}, written: make([]*yamlpos.Node, 2)}
	other := &Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "b"}}}}
	require.EqualError(t, other.follow(before), "the resource list changed between two evaluations (exec#b instead of exec#a); do not use random values or the time in names or conditions")
	require.EqualError(t, (&Compiled{}).follow(before), "the resource list changed between two evaluations (it had at least 1 resources, now it has 0); do not use random values or the time in names or conditions")
}

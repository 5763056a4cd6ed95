package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/outcomes"
)

func logOf(output string) logs {
	return parseLog("\x16=== NAME  TestScripts/x\n    testscript.go:609: WORK=$WORK\n        HOME=$WORK/operator\n        \n" +
		"        # A comment (0.12s)\n        > exits 2 ccm-push site.yaml\n        [stdout]\n" + output +
		"        > cmp stdout want\n        PASS\n        \n\x16--- PASS: TestScripts/x (1.04s)\n")
}

func TestParseLog(t *testing.T) {
	require.Equal(t, logs{"TestScripts/x": {{
		{command: "exits 2 ccm-push site.yaml", output: []string{"[stderr] ccm-push: run ID failed", "[stdout] web1: 0s", "[stdout] web2: 0s"}},
		{command: "cmp stdout want", output: []string{"", "PASS"}},
		{command: "PASS"},
	}}}, logOf("        web2: 1.5s\n        web1: 20ms\n        [stderr]\n"+
		"        ccm-push: 1/2 hosts done\n        ccm-push: run 01K9ZZZZZZZZZZZZZZZZZZZZZZ failed\n"))
}

func TestDifferences(t *testing.T) {
	one, other := logOf("        web1: 1 changed; 2ms\n"), logOf("        web1: 2 changed; 3ms\n")
	require.Empty(t, differences(one, logOf("        web1: 1 changed; 4ms\n")))
	differ := differences(one, other)
	require.Len(t, differ, 1)
	require.Equal(t, "TestScripts/x: command 1: exits 2 ccm-push site.yaml\n- [stdout] web1: 1 changed; 0s\n+ [stdout] web1: 2 changed; 0s\n", differ[0].text)
	scripts, plays := patterns(append(differ, difference{script: "Plays/play7"}))
	require.Equal(t, "^(TestScripts)$/^(x)$", scripts)
	require.Equal(t, "^(TestScripts)$/^(play7)$", plays)

	// One output that both programs had is enough.
	one.add(logOf("        web1: 2 changed; 2ms\n"))
	require.Empty(t, differences(one, other))
	require.Equal(t, 1, one.commands(false))
	require.Len(t, differences(one, logs{}), 1)
}

// TestPlays checks that plays do not depend on the order of hosts and resources, and are the same for the same seed.
func TestPlays(t *testing.T) {
	a := playScript(outcomes.Generate(7))
	require.Equal(t, a.Files[1], playScript(outcomes.Generate(7)).Files[1])
	for _, f := range a.Files {
		require.NotContains(t, string(f.Data), outcomes.Folder)
	}
}

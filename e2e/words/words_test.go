package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestPatterns has for each pattern, by the beginning of its name, sentences that match it and sentences that must not.
func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		name  string
		match []string
		not   []string
	}{
		{"stand", []string{"the texts stand in testdata", "the limit stood at 5"}, []string{"CA stands for certificate authority", "a standby server"}},
		{"is at", []string{"three hosts are at work", "the limit comes to 5", "what the slowest hosts are at"}, []string{"it is at least 5", "the error is at line 3"}},
		{"mend", []string{"drift is mended"}, []string{"an amended commit"}},
		{"tell", []string{"the host is told its name", "doc TYPE tells of each"}, []string{"an intelligent retry"}},
		{"says", []string{"the file says so", "what is wrong is said"}, []string{"the server replies"}},
		{"come over", []string{"a rollout comes over the hosts", "hosts worked on by others"}, []string{"connect over SSH"}},
		{"behind", []string{"resources behind it wait"}, []string{"hosts behind a NAT gateway", "a host behind the firewall"}},
		{"beside", []string{"a template beside the manifest", "all but for the first"}, []string{"dial is like Dial, but for tests"}},
		{"leave", []string{"leave it out", "the others are left", "two are passed over"}, []string{"the file is left unchanged"}},
		{"nobody", []string{"nobody reads it", "there is no host that runs it", "there are none"}, []string{"there is no manifest"}},
		{"is no,", []string{`"x" is no port`, "hosts are none"}, []string{"there is no manifest", "the lock is no longer held"}},
		{"ask", []string{"the host is asked for facts"}, []string{"mask the unit", "pass --ask-become-pass"}},
		{"shall", []string{"as it shall be", "the file is to be removed"}, []string{"the file must exist"}},
		{"as it was", []string{"the play is not as it was", "it stays as it is"}, []string{"twice as long as before"}},
		{"is done with", []string{"the host is done with it", "the run that is gone"}, []string{"the host has finished"}},
		{"arithmetic", []string{"stops by arithmetic", "-e wins over data"}, []string{"-e overrides data"}},
		{"maybe", []string{"maybe changed"}, []string{"may be changed"}},
		{"is what, says", []string{"Kind is what it is", "it says whether it is there"}, []string{"Kind reports the kind"}},
		{"gives", []string{"Names gives the names"}, []string{"Dial gives up after 10 s", "Names returns the names"}},
		{"is nobody", []string{"nil is nobody", "0 is all"}, []string{"nil disables it"}},
		{"go on", []string{"a run that goes on", "resume goes on with it"}, []string{"continue the run"}},
		{"let in", []string{"the key is let in", "it lets users in"}, []string{"let us begin"}},
		{"anew", []string{"begin anew", "once more"}, []string{"a new run"}},
		{"what is", []string{"it prints what is there", "a list of what changed", "What it costs is little."}, []string{"What is a play?", "somewhat slow"}},
		{"that of", []string{"the time is that of the host", "those that wait", "one that is new"}, []string{"the time of the host", "the hosts that wait"}},
		{"who", []string{"shows who changed it", "Who waits is next"}, []string{"users who log in", "the operator, who reads it"}},
		{"it is X", []string{"it is told later", "it is no error"}, []string{"it is not an error", "it is no longer used"}},
		{"has X done", []string{"it has the hosts checked", "have them read"}, []string{"it has checked the hosts", "it has the file"}},
		{"there are A", []string{"there is --become", "there are %s"}, []string{"there is no inventory", "there are hosts"}},
		{"a comment begins", []string{"of the host", "It is nil without a lock", "for each host"}, []string{"limits the hosts", "forks is a number"}},
		{"X is those", []string{"Names are those of hosts", "Done is whether it ended"}, []string{"Names returns names", "err is nil"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p *pattern
			for i := range patterns {
				if len(patterns[i].name) >= len(test.name) && patterns[i].name[:len(test.name)] == test.name {
					require.Nil(t, p, "two patterns begin with %q", test.name)
					p = &patterns[i]
				}
			}
			require.NotNil(t, p)
			for _, words := range test.match {
				require.True(t, p.in(text{kind: p.applies(), doc: true, words: words}), words)
				if p.only != "" {
					require.False(t, p.in(text{kind: docs, doc: true, words: words}), "only %s: %s", p.only, words)
				}
				if p.doc {
					require.False(t, p.in(text{kind: comments, words: words}), "only doc comments: %s", words)
				}
			}
			for _, words := range test.not {
				require.False(t, p.in(text{kind: p.applies(), doc: true, words: words}), words)
			}
		})
	}
}

// applies returns a kind that the pattern applies to.
func (p *pattern) applies() kind {
	if p.only != "" {
		return p.only
	}
	return messages
}

func TestEachPatternHasATest(t *testing.T) {
	require.Len(t, patterns, 31, "a new pattern needs a line in TestPatterns")
}

func TestMarkdown(t *testing.T) {
	list, err := markdown("a.md", []byte("# The first heading\n\nOne two three. Four `code. Code`\nfive six. e.g. this one goes further.\n\n"+
		"```sh\nnot this code here\n```\n- an item of lists\n- a [link of words](what-is.md) here\n\n| one cell here | `a|b` means two things |\n|---|---|\nshort\n"))
	require.NoError(t, err)
	require.Equal(t, []text{
		{docs, "a.md", 1, false, "The first heading"},
		{docs, "a.md", 3, false, "One two three."},
		{docs, "a.md", 3, false, "Four X five six. e.g. this one goes further."},
		{docs, "a.md", 9, false, "an item of lists"},
		{docs, "a.md", 10, false, "a link of words here"},
		{docs, "a.md", 12, false, "one cell here"},
		{docs, "a.md", 12, false, "X means two things"},
	}, list)
}

func TestSource(t *testing.T) {
	const file = "// Package p does it.\npackage p\n\nimport \"fmt\"\n\n" +
		"// A T is one of several. It has a second sentence.\n//\n//\tnot this code here\ntype T struct {\n" +
		"\tA string `json:\"a\" doc:\"how large it is\"` // of the whole T\n}\n\n" +
		"func f(n int) error {\n\t// why this is so\n\treturn fmt.Errorf(\"a value of \"+\n\t\t\"%d is wrong\\n  hint: write a number\", n)\n}\n" +
		"var script = \"#!/bin/sh\\nit is not counted\"\nvar c = command{Example: \"ccm-push run this now\"}\n"
	want := []text{
		{comments, "p/p.go", 1, false, "Package p does it."},
		{comments, "p/p.go", 6, true, "A T is one of several."},
		{comments, "p/p.go", 6, false, "It has a second sentence."},
		{comments, "p/p.go", 10, true, "of the whole T"},
		{comments, "p/p.go", 14, false, "why this is so"},
		{messages, "p/p.go", 10, false, "how large it is"},
		{messages, "p/p.go", 15, false, "a value of %d is wrong"},
		{messages, "p/p.go", 16, false, "hint: write a number"},
	}
	list, err := source("p/p.go", []byte(file))
	require.NoError(t, err)
	require.Equal(t, want, list)
	list, err = source("p/p_test.go", []byte(file))
	require.NoError(t, err)
	require.Len(t, list, 5, "a test has comments alone")
}

func TestRead(t *testing.T) {
	list, err := read(fstest.MapFS{
		"pages/a.md":               {Data: []byte("One two three.")},
		"docs/reference" + "/b.md": {Data: []byte("# A page\n\n<!-- Made of the program by `make reference`. -->\n\nNot this page here.")},
		"cmd/x/topics/c.txt":       {Data: []byte("a topic of help\n\nIts text follows here.\n")},
		"cmd/x/other.txt":          {Data: []byte("not this text here")},
		"p/testdata/d.md":          {Data: []byte("Not this page here.")},
		".git/e.md":                {Data: []byte("Not this page here.")},
		"p/generated.go":           {Data: []byte("// Code generated by g. DO NOT EDIT.\n\npackage p\n\n// not this comment here\nvar x int\n")},
		"e2e/words/patterns.go":    {Data: []byte("package p\n\n// not this comment here\nvar x int\n")},
	})
	require.NoError(t, err)
	require.Equal(t, []text{
		{messages, "cmd/x/topics/c.txt", 1, false, "a topic of help"},
		{messages, "cmd/x/topics/c.txt", 3, false, "Its text follows here."},
		{docs, "pages/a.md", 1, false, "One two three."},
	}, list)
}

func TestLimits(t *testing.T) {
	counts := map[string]int{"docs docs": 3, "messages cmd/x": 1, "comments .": 2}
	require.Empty(t, worse(counts, map[string]int{"docs docs": 3, "messages cmd/x": 5, "comments .": 2}))
	require.Equal(t, []string{"comments .", "docs docs"}, worse(counts, map[string]int{"docs docs": 2, "messages cmd/x": 1}))
	require.Equal(t, "messages a/b", folderOf(text{kind: messages, file: "a/b/c/d.go"}))
	require.Equal(t, "docs docs", folderOf(text{kind: docs, file: "docs" + "/guide/x.md"}))
	require.Equal(t, "docs .", folderOf(text{kind: docs, file: "README.md"}))
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("pages/a.md", "Nobody reads this. This sentence is plain.\n")
	write(limitsFile, "docs pages 1\n")
	var out bytes.Buffer
	require.NoError(t, run(&out, root, "", "", false, ""))
	require.Contains(t, out.String(), "here         docs           2 sentences,      1 match,  500 per 1,000 (wanted: 60)\n")
	require.Contains(t, out.String(), "    1 pages/a.md\n")

	write("pages/b.md", "The host is told its name.\n")
	require.EqualError(t, run(&out, root, "", "", false, ""), "docs pages: 2 sentences match, limit 1\n  hint: make words LIST=pages")
	out.Reset()
	require.NoError(t, run(&out, root, "pages/b.md", "", false, ""))
	require.Equal(t, "pages/b.md:1: [tell: report, print, send] The host is told its name.\n", out.String())
	require.NoError(t, run(&out, root, "", "", true, ""))
	require.NoError(t, run(&out, root, "", "", false, ""), "after an update the limits hold")

	out.Reset()
	require.NoError(t, run(&out, root, "", "", false, root))
	require.Contains(t, out.String(), filepath.Base(root))
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCCMDesign holds the product against what the design documents of CCM say
// of files, commands and templates, each topic in a script with manifests of our
// own.
func TestCCMDesign(t *testing.T) {
	t.Parallel()
	params := scriptParams(t)
	params.Dir, params.UpdateScripts = "testdata/ccmdesign", *update
	params.Cmds["outcome"] = outcome
	testscript.Run(t, params)
}

// outcome runs a manifest on web1 three times, as a check, and twice for real, and writes the result of each resource:
// outcome MANIFEST FILE [KEY=VALUE...]. It omits the folder of the host from paths, and replaces VALUE with KEY.
func outcome(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: outcome MANIFEST FILE [KEY=VALUE...]")
	}
	var data []string
	for _, pair := range args[2:] {
		data = append(data, "-e", pair)
	}
	var runs [3][]string
	for i, flags := range [][]string{{"--check"}, nil, nil} {
		words := slices.Concat([]string{"-i", "hosts.yaml", "--output", "json"}, flags, data, args[:1])
		if err := ts.Exec("ccm-push", words...); err != nil {
			ts.Logf("%v", err) // a resource that fails is an outcome too
		}
		runs[i] = results(ts, ts.ReadFile("stdout"))
		if len(runs[i]) != len(runs[0]) {
			ts.Fatalf("the runs have %d and %d resources", len(runs[0]), len(runs[i]))
		}
	}
	var b strings.Builder
	for i := range runs[0] {
		name, check, _ := strings.Cut(runs[0][i], " ")
		_, first, _ := strings.Cut(runs[1][i], " ")
		_, second, _ := strings.Cut(runs[2][i], " ")
		if second == first {
			second = "the same"
		}
		fmt.Fprintf(&b, "%s: check %s; %s; %s\n", name, check, first, second)
	}
	text := strings.ReplaceAll(b.String(), ts.Getenv("WORK")+"/web1", "")
	for _, pair := range args[2:] {
		key, value, _ := strings.Cut(pair, "=")
		text = strings.ReplaceAll(text, value, strings.ToUpper(key))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// results returns the results in a stream of events: name without blanks, status, and message.
func results(ts *testscript.TestScript, stream string) []string {
	var list []string
	for line := range strings.Lines(stream) {
		var e struct {
			Event, Type, Name, Status, Message, Error string
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		switch e.Event {
		case "result":
			name := strings.ReplaceAll(e.Type+"#"+e.Name, " ", "_")
			list = append(list, strings.TrimSpace(name+" "+e.Status+" "+e.Message+e.Error))
		case "host_failed":
			ts.Fatalf("%s", line)
		}
	}
	return list
}

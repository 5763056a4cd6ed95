package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

// TestBill uses the generator of host programs as the program of a release, since it links a module of others; the host
// program prints hello.
func TestBill(t *testing.T) {
	folder := t.TempDir()
	hello, err := compile.Build(t.Context(), "../compile/testdata/hello", compile.Own(), "id", true)
	require.NoError(t, err)
	entry, err := hello.Write(folder)
	require.NoError(t, err)
	require.NoError(t, builds.WriteIndex(folder, []builds.Entry{entry}))
	program := filepath.Join(t.TempDir(), "gen")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../gen").CombinedOutput()
	require.NoError(t, err, "%s", out)

	var text bytes.Buffer
	require.NoError(t, run(&text, "1.2.3", folder, []string{program}, nil, "1795462000"))
	var doc document
	require.NoError(t, json.Unmarshal(text.Bytes(), &doc))
	require.Equal(t, "2026-11-23T19:26:40Z", doc.Metadata.Timestamp)
	require.Equal(t, component{Type: "application", Ref: "ccm-push", Name: "ccm-push", Version: "1.2.3"}, doc.Metadata.Component)

	byRef := map[string]component{}
	for _, c := range doc.Components {
		require.NotContains(t, byRef, c.Ref)
		byRef[c.Ref] = c
	}
	parts := map[string][]string{}
	for _, d := range doc.Dependencies {
		for _, part := range d.DependsOn {
			require.Contains(t, byRef, part, "a part of %s", d.Ref)
		}
		parts[d.Ref] = d.DependsOn
	}
	system := "-" + hello.OS + "-" + hello.Arch
	require.Equal(t, []string{"gen" + system}, parts["ccm-push"])
	require.Equal(t, hello.SHA256, byRef["hello"+system+"-host"].Hashes[0].Content)
	require.Len(t, parts["hello"+system+"-host"], 1, "the standard library")
	sync := byRef[parts["gen"+system][slices.IndexFunc(parts["gen"+system], func(ref string) bool {
		return strings.HasPrefix(ref, "pkg:golang/golang.org/x/sync@v")
	})]]
	sums, err := os.ReadFile("../../../go.sum")
	require.NoError(t, err)
	require.Contains(t, string(sums), sync.Name+" "+sync.Version+" "+sync.Properties[0].Value+"\n")
	require.Contains(t, parts["gen"+system], "hello"+system+"-host")

	var again bytes.Buffer
	require.NoError(t, run(&again, "1.2.3", folder, []string{program}, nil, "1795462000"))
	require.Equal(t, text.String(), again.String())

	other := filepath.Join(t.TempDir(), "sbom")
	out, err = exec.CommandContext(t.Context(), "go", "build", "-o", other, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	again.Reset()
	require.NoError(t, run(&again, "1.2.3", folder, []string{program}, []string{other}, ""))
	var both document
	require.NoError(t, json.Unmarshal(again.Bytes(), &both))
	for _, d := range both.Dependencies {
		if d.Ref == "ccm-push" {
			require.Equal(t, []string{"gen" + system, "sbom" + system}, d.DependsOn)
		} else if d.Ref == "sbom"+system {
			require.NotContains(t, d.DependsOn, "hello"+system+"-host", "it holds no host program")
		}
	}
	require.EqualError(t, run(&again, "", folder, []string{program}, nil, ""), "it takes -version and the programs of the release")
	require.EqualError(t, run(&again, "1.2.3", folder, []string{"main.go"}, nil, ""), "main.go: unrecognized file format")
	require.EqualError(t, run(&again, "1.2.3", folder, []string{program, program}, nil, ""), program+": there is another gen"+system)
	require.EqualError(t, run(&again, "1.2.3", folder, []string{program}, nil, "today"),
		`SOURCE_DATE_EPOCH: strconv.ParseInt: parsing "today": invalid syntax`)
}

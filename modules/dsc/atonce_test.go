package dsc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// graph runs instances, given by type, without dependencies, and returns the results by their index.
func (b *bench) graph(types ...string) []*wire.Result {
	b.Helper()
	registry := modules.Registry{Type()}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return registry.Decode(e.Type, e.Properties) },
		Host:   b.host(), Now: time.Now,
	}
	cat := &wire.Catalog{Parallel: len(types)}
	for i, typ := range types {
		d := b.instance(typ, `{"n": `+string(rune('0'+i))+`}`)
		text, err := json.Marshal(d)
		require.NoError(b, err)
		cat.Entries = append(cat.Entries, wire.Entry{Type: "dsc", Name: string(rune('0' + i)), Properties: text})
	}
	all := make([]*wire.Result, len(types))
	_, err := e.Run(b.Context(), cat, func(one *wire.Result) error {
		all[one.Index] = one
		return nil
	})
	require.NoError(b, err)
	return all
}

// tool adds a resource whose set is a script, and which cannot be tested.
func (b *bench) tool(typ, script string) {
	b.Helper()
	name := strings.ToLower(filepath.Base(typ))
	b.write(name+".sh", "#!/bin/sh\n"+script)
	require.NoError(b, os.Chmod(filepath.Join(b.resources, name+".sh"), 0o700))
	b.write(name+".dsc.resource.json", `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json",
		"type": "`+typ+`", "version": "1.0.0", `+anySchema+`, "set": {"executable": "`+name+`.sh", "input": "stdin"}}`)
}

// TestOneTypeTakesTurns checks that programs of one type do not run at once, since few are made for that.
func TestOneTypeTakesTurns(t *testing.T) {
	b := newBench(t)
	b.tool("Test/Alone", `mkdir "$ROOT/busy" || exit 1; sleep 0.1; rmdir "$ROOT/busy"`)
	for _, result := range b.graph("Test/Alone", "test/alone", "Test/Alone", "Test/Alone") {
		require.Equal(t, wire.Changed, result.Status, result.Error)
	}
}

// TestTypesRunAtOnce checks that two types run at once: each of two programs waits until the other one runs.
func TestTypesRunAtOnce(t *testing.T) {
	b := newBench(t)
	meet := `: >"$ROOT/$MINE"; i=0; until [ -e "$ROOT/$OTHER" ]; do i=$((i+1)); [ $i -lt 600 ] || exit 1; sleep 0.1; done`
	b.tool("Test/One", "MINE=one OTHER=two; "+meet)
	b.tool("Test/Two", "MINE=two OTHER=one; "+meet)
	for _, result := range b.graph("Test/One", "Test/Two") {
		require.Equal(t, wire.Changed, result.Status, result.Error)
	}
}

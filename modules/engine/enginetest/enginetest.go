// Package enginetest makes catalogs for tests of the engine and of its sessions, and runs them through an engine on
// this machine.
//
// A test's own resources stay in its package.
package enginetest

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// File returns a file that belongs to the user of the tests; rest has further properties.
func File(path, rest string) wire.Entry {
	return entry("file", path, `,"owner":"`+strconv.Itoa(os.Getuid())+`","group":"`+strconv.Itoa(os.Getgid())+`"`, rest)
}

// Command is a line of a shell; rest are further properties.
func Command(line, rest string) wire.Entry {
	return entry("exec", line, `,"provider":"shell"`, rest)
}

func entry(typ, name, props, rest string) wire.Entry {
	if rest != "" {
		props += "," + rest
	}
	return wire.Entry{Type: typ, Name: name, Properties: json.RawMessage(`{"name":"` + name + `"` + props + "}")}
}

// With is an entry with a change.
func With(e wire.Entry, change func(*wire.Entry)) wire.Entry {
	change(&e)
	return e
}

// Receiving is an entry that receives values.
func Receiving(e wire.Entry, list ...wire.Receive) wire.Entry {
	e.Receive = list
	return e
}

// In returns a copy of a catalog with dir in place of $ in its names and properties. The original can be used again.
func In(dir string, cat wire.Catalog) wire.Catalog {
	cat.Entries = slices.Clone(cat.Entries)
	for i := range cat.Entries {
		e := &cat.Entries[i]
		e.Name = strings.ReplaceAll(e.Name, "$", dir)
		e.Properties = json.RawMessage(strings.ReplaceAll(string(e.Properties), "$", dir))
	}
	return cat
}

// New is an engine for all types, and others, on this machine.
func New(others ...modules.Type) *engine.Engine {
	types := append(builtin.Types(), others...)
	host := system.New()
	host.Contents = modules.LocalContents{}
	return &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return types.Decode(e.Type, e.Properties) },
		Host:   host,
		Now:    time.Now,
	}
}

// Run runs a catalog through an engine. The results are in the order of their reports, with $ in place of dir and
// without durations.
func Run(t *testing.T, e *engine.Engine, dir string, cat wire.Catalog) (results []wire.Result, stopped bool) {
	t.Helper()
	stopped, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
		r.Duration = 0
		if dir != "" {
			for _, text := range []*string{&r.Error, &r.Message, &r.Because, &r.Diff} {
				*text = strings.ReplaceAll(*text, dir, "$")
			}
			for n := range r.RefreshedBy {
				r.RefreshedBy[n] = strings.ReplaceAll(r.RefreshedBy[n], dir, "$")
			}
		}
		results = append(results, *r)
		return nil
	})
	require.NoError(t, err)
	return results, stopped
}

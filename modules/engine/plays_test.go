package engine_test

import (
	"context"
	"encoding/json"
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

// catalogs takes several catalogs through one engine, as the plays of a session.
func catalogs(t *testing.T, dir string, cats ...wire.Catalog) []string {
	host := system.New()
	host.Contents = modules.LocalContents{}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) {
			return builtin.Types().Decode(e.Type, e.Properties)
		},
		Host: host,
		Now:  time.Now,
	}
	var briefs []string
	for _, cat := range cats {
		for i := range cat.Entries {
			entry := &cat.Entries[i]
			entry.Properties = json.RawMessage(strings.ReplaceAll(string(entry.Properties), "$", dir))
		}
		var results []wire.Result
		_, err := e.Run(context.Background(), &cat, func(r *wire.Result) error {
			results = append(results, *r)
			return nil
		})
		require.NoError(t, err)
		briefs = append(briefs, brief(results))
	}
	return briefs
}

// TestCheckSeesEarlierPlays has the second play of a check run see what the first
// would have done.
func TestCheckSeesEarlierPlays(t *testing.T) {
	plays := func(check bool, earlier string) []wire.Catalog {
		return []wire.Catalog{
			{Check: check, Entries: []wire.Entry{file("$/d", `"ensure":"directory","mode":"0755"`)}},
			{Check: check, Earlier: earlier, Entries: []wire.Entry{file("$/d/f", `"content":"x","mode":"0644"`), file("$/d", `"ensure":"directory","mode":"0755"`)}},
		}
	}
	require.Equal(t, []string{"changed", "changed stable"}, catalogs(t, t.TempDir(), plays(true, "")...))
	require.Equal(t, []string{"changed", "changed stable"}, catalogs(t, t.TempDir(), plays(false, "")...), "as it came to pass")
	// Of what another session has predicted nothing is known.
	require.Equal(t, []string{"changed? changed?"}, catalogs(t, t.TempDir(), plays(true, "an earlier play")[1:]...))
}

// A folderUser notes which folder resources/ it was given.
type folderUser struct{ seen *[]string }

func (f folderUser) Validate() error { return nil }

func (f folderUser) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	dir, err := h.Resources(ctx)
	*f.seen = append(*f.seen, dir)
	return modules.Plan{Action: "used the folder"}, err
}

func (f folderUser) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// TestCheckUsesTheFolderOfItsPlay has two plays with a folder resources/ each in one check
// run.
func TestCheckUsesTheFolderOfItsPlay(t *testing.T) {
	var seen []string
	e := &engine.Engine{
		Decode: func(*wire.Entry) (modules.Resource, error) { return folderUser{&seen}, nil },
		Host:   system.New(),
		Now:    time.Now,
	}
	for _, folder := range []string{"first", "second"} {
		e.Host.Resources = func(context.Context) (string, error) { return folder, nil }
		cat := wire.Catalog{Check: true, Entries: []wire.Entry{{Type: "folder", Name: "x"}}}
		_, err := e.Run(t.Context(), &cat, func(*wire.Result) error { return nil })
		require.NoError(t, err)
	}
	require.Equal(t, []string{"first", "second"}, seen)
}

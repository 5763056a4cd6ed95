package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// catalogs takes several catalogs through one engine, as the plays of a session.
func catalogs(t *testing.T, dir string, cats ...wire.Catalog) []string {
	t.Helper()
	e := enginetest.New()
	var briefs []string
	for _, cat := range cats {
		results, _ := enginetest.Run(t, e, dir, enginetest.In(dir, cat))
		briefs = append(briefs, brief(results))
	}
	return briefs
}

// TestCheckSeesEarlierPlays: the second play of a check run sees the predicted effects of the first.
func TestCheckSeesEarlierPlays(t *testing.T) {
	plays := func(check bool, earlier string) []wire.Catalog {
		return []wire.Catalog{
			{Check: check, Entries: []wire.Entry{file("$/d", `"ensure":"directory","mode":"0755"`)}},
			{Check: check, Earlier: earlier, Entries: []wire.Entry{file("$/d/f", `"content":"x","mode":"0644"`), file("$/d", `"ensure":"directory","mode":"0755"`)}},
		}
	}
	require.Equal(t, []string{"changed", "changed stable"}, catalogs(t, t.TempDir(), plays(true, "")...))
	require.Equal(t, []string{"changed", "changed stable"}, catalogs(t, t.TempDir(), plays(false, "")...), "as it came to pass")
	// Predictions of another session are unknown.
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
	e := enginetest.New()
	e.Decode = func(*wire.Entry) (modules.Resource, error) { return folderUser{&seen}, nil }
	for _, folder := range []string{"first", "second"} {
		e.Host.Resources = func(context.Context) (string, error) { return folder, nil }
		enginetest.Run(t, e, "", wire.Catalog{Check: true, Entries: []wire.Entry{{Type: "folder", Name: "x"}}})
	}
	require.Equal(t, []string{"first", "second"}, seen)
}

// TestDistrustKeepsNotes has a play leave a note after the journal was found
// damaged: the plays that follow do not forget it.
func TestDistrustKeepsNotes(t *testing.T) {
	dir := t.TempDir()
	j := &mortalJournal{m: &mortal{}, text: []byte("{")}
	e := enginetest.New()
	e.Now = func() time.Time { return time.Unix(0, 0) }
	e.Refreshes = j
	play := func(name string, noop bool) string {
		reload := command("touch "+dir+"/"+name, `"refreshonly":true`)
		reload.Subscribe, reload.Check = []int{0}, noop
		results, _ := enginetest.Run(t, e, dir, wire.Catalog{Entries: []wire.Entry{file(dir+"/conf", `"mode":"0600","content":"x"`), reload}})
		return brief(results)
	}
	require.Equal(t, "changed changed*?", play("first", true))
	require.Contains(t, string(j.text), "first")
	require.Equal(t, "stable changed*", play("second", false))
	require.NotContains(t, string(j.text), "second")
	require.Contains(t, string(j.text), "first", "it was only predicted")
	require.Equal(t, "stable changed*", play("first", false))
	require.Empty(t, j.text)
}

package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestDistrustKeepsNotes has a play leave a note after the journal was found
// damaged: the plays that follow do not forget it.
func TestDistrustKeepsNotes(t *testing.T) {
	dir := t.TempDir()
	j := &mortalJournal{m: &mortal{}, text: []byte("{")}
	host := system.New()
	host.Contents = modules.LocalContents{}
	e := &engine.Engine{
		Decode:    func(e *wire.Entry) (modules.Resource, error) { return builtin.Types().Decode(e.Type, e.Properties) },
		Host:      host,
		Now:       func() time.Time { return time.Unix(0, 0) },
		Refreshes: j,
	}
	play := func(name string, noop bool) string {
		reload := command("touch "+dir+"/"+name, `"refreshonly":true`)
		reload.Subscribe, reload.Check = []int{0}, noop
		var results []wire.Result
		cat := wire.Catalog{Entries: []wire.Entry{file(dir+"/conf", `"mode":"0600","content":"x"`), reload}}
		_, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
			results = append(results, *r)
			return nil
		})
		require.NoError(t, err)
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

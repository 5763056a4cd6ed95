package engine_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A warner keeps a text in a file, which it does not declare, and warns in each Check.
type warner struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (w *warner) Validate() error { return nil }

func (w *warner) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	h.Report.Message(modules.LevelWarning, "the firewall is not active")
	have, _ := os.ReadFile(w.Name)
	if string(have) == w.Text {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "wrote it", Changes: []modules.Change{{Property: "text", Have: string(have), Want: w.Text}}}, nil
}

func (w *warner) Apply(context.Context, modules.Host, modules.Plan) error {
	return os.WriteFile(w.Name, []byte(w.Text), 0o600)
}

func (w *warner) Subject() string { return "text " + w.Name }

func (w *warner) Reversal(context.Context, modules.Host, modules.Resource) (map[string]any, error) {
	have, err := os.ReadFile(w.Name)
	return map[string]any{"text": string(have)}, err
}

// TestUndoWarnsOnce uses a type that warns: it is checked twice, and its warning is reported once.
func TestUndoWarnsOnce(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	typ := modules.Type{Name: "warner", New: func() modules.Resource { return new(warner) }}
	run := func(cat wire.Catalog) wire.Result {
		e := enginetest.New(typ)
		e.Past = u.past
		cat = enginetest.In(u.dir, cat)
		require.NoError(t, e.TakeBack(&cat))
		results, _ := enginetest.Run(t, e, u.dir, cat)
		require.Len(t, results, 1)
		return results[0]
	}
	entry := wire.Entry{Type: "warner", Name: "$/f", Properties: []byte(`{"name":"$/f","text":"new"}`)}
	for _, cat := range []wire.Catalog{{Lock: &wire.Lock{Run: "1"}, Entries: []wire.Entry{entry}}, {Lock: &wire.Lock{Run: "undo1"}, Undo: &wire.Undo{Run: "1"}}} {
		r := run(cat)
		require.Equal(t, wire.Changed, r.Status, r.Error)
		require.Equal(t, []modules.Note{{Level: "warning", Text: "the firewall is not active"}}, r.Messages)
	}
}

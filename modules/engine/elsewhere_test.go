package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestElsewhere runs a resource on another host, between two resources of this one.
func TestElsewhere(t *testing.T) {
	again := `"refreshonly":true`
	for _, c := range []struct {
		name  string
		check bool
		there wire.Elsewhere
		want  string
		owed  bool // a refresh to the next run
	}{
		{"changed", false, wire.Elsewhere{Status: wire.Changed}, "changed changed changed* stable", false},
		{"stable", false, wire.Elsewhere{Status: wire.Stable}, "changed stable stable stable", false},
		{"failed", false, wire.Elsewhere{Status: wire.Failed, Error: "it failed on lb1"}, "changed failed stable skipped", true},
		{"skipped", false, wire.Elsewhere{Status: wire.Skipped}, "changed skipped stable stable", false},
		{"before its turn", false, wire.Elsewhere{}, "changed", false},
		{"would change", true, wire.Elsewhere{Status: wire.Changed}, "changed? changed? changed*? stable?", false},
		{"may change", true, wire.Elsewhere{Status: wire.Changed, Grade: modules.Unknown, Because: "exec#x"}, "changed? changed? changed*? stable?", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []wire.Elsewhere
			kept := &shelf{}
			results := play(t, t.TempDir(), wire.Catalog{Check: c.check, Entries: []wire.Entry{
				command("true", ""),
				{Type: "exec", Name: "there", On: "lb1", Subscribe: []int{0}},
				with(command("true 2", again), func(e *wire.Entry) { e.Subscribe = []int{1} }),
				with(command("true 3", again), func(e *wire.Entry) { e.Require = []int{1} }),
			}}, func(e *engine.Engine) {
				e.Refreshes = kept
				e.Keep = func(f *notes.Finished) error {
					require.Equal(t, f.Result.Index == 1 && !c.check && c.name != "before its turn", f.Elsewhere)
					return nil
				}
				e.Elsewhere = func(_ context.Context, question *wire.Elsewhere) (*wire.Elsewhere, error) {
					asked = append(asked, *question)
					return &c.there, nil
				}
			})
			require.Equal(t, c.want, brief(results))
			require.Equal(t, []wire.Elsewhere{{Index: 1, Refresh: true}}, asked)
			if c.name != "before its turn" { // the resource that it subscribes to has changed, so the refresh is due
				require.Equal(t, c.owed, len(kept.text) > 0, string(kept.text))
			}
		})
	}
}

// TestElsewhereAlone has no controller.
func TestElsewhereAlone(t *testing.T) {
	results := play(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "there", On: "lb1"}}}, nil)
	require.Equal(t, "only a controller can run it on lb1", results[0].Error)
}

// TestRefreshFromElsewhere refreshes a resource here because of a change on another host.
func TestRefreshFromElsewhere(t *testing.T) {
	results := play(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{
		with(command("true", `"refreshonly":true`), func(e *wire.Entry) { e.Refresh = []string{"file#/etc/a"} }),
	}}, nil)
	require.Equal(t, "changed*", brief(results))
	require.Equal(t, []string{"file#/etc/a"}, results[0].RefreshedBy)
}

// TestOnce has a resource that runs on one host of several: here, if that is the answer.
func TestOnce(t *testing.T) {
	for _, c := range []struct {
		there wire.Elsewhere
		want  string
	}{
		{wire.Elsewhere{Here: true}, "changed changed*"},
		{wire.Elsewhere{Status: wire.Changed}, "changed changed*"},
		{wire.Elsewhere{Status: wire.Stable}, "stable stable"},
	} {
		dir, kept := t.TempDir(), &shelf{}
		results := play(t, dir, wire.Catalog{Entries: []wire.Entry{
			with(file("$/once", `"mode":"0600","content":"x"`), func(e *wire.Entry) { e.Once = true }),
			with(command("true", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{0} }),
		}}, func(e *engine.Engine) {
			e.Refreshes = kept
			e.Elsewhere = func(context.Context, *wire.Elsewhere) (*wire.Elsewhere, error) { return &c.there, nil }
		})
		require.Equal(t, c.want, brief(results))
		require.Empty(t, kept.text)
		if _, err := os.Stat(filepath.Join(dir, "once")); c.there.Here {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
	}
	alone := play(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{with(command("true", ""), func(e *wire.Entry) { e.Once = true })}}, nil)
	require.Equal(t, "changed", brief(alone), "without a controller")
}

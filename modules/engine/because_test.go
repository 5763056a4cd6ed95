package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestBecauseNamesWhatIsPending uses a prediction that depends on an uncertain one, but has nothing to do. It names the
// cause of the uncertainty.
func TestBecauseNamesWhatIsPending(t *testing.T) {
	changes := file("$/conf", `"mode":"0644","content":"x"`)
	guarded := command("true", `"unless":"true"`) // stable, on the host as it is
	for name, follows := range map[string]func(*wire.Entry){
		"require":   func(e *wire.Entry) { e.Require = []int{1} },
		"subscribe": func(e *wire.Entry) { e.Subscribe = []int{1} },
	} {
		for _, parallel := range []int{0, 4} {
			last := with(file("$/other", `"mode":"0644","content":"x"`), follows)
			if name == "subscribe" {
				last = with(command("false", `"refreshonly":true`), follows)
			}
			guard := guarded
			guard.Require = []int{0} // in a graph, doubt follows edges
			results, _ := runEntries(t, t.TempDir(), clone(wire.Catalog{Check: true, Parallel: parallel, Entries: []wire.Entry{changes, guard, last}}))
			require.Equal(t, wire.Status(""), results[1].Status, "%s", name)
			for _, r := range results[1:] {
				require.NotEqual(t, modules.Certain, r.Grade, "%s: %d", name, r.Index)
				require.Equal(t, "file#$/conf", r.Because, "%s: %d", name, r.Index)
			}
		}
	}
}

// TestBecauseOfAnything has random catalogs: whatever a prediction depends on is
// predicted to change something, or to fail. (Of two that make the same thing and may run
// at once, only one is predicted to change it, and each depends on the other.)
func TestBecauseOfAnything(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 9))
		cat := wire.Catalog{Check: true, Parallel: random.IntN(2)}
		for i := range 3 + random.IntN(12) {
			var e wire.Entry
			switch random.IntN(4) {
			case 0:
				e = file(fmt.Sprintf("$/%d", random.IntN(4)), `"mode":"0644","content":"x"`)
			case 1:
				e = command("true", `"unless":"true"`)
			case 2:
				e = command("true", `"creates":"/"`)
			default:
				e = command("true", fmt.Sprintf(`"onlyif":"test -e $/%d"`, random.IntN(4)))
			}
			e.Alias = fmt.Sprint(i)
			for j := range i {
				switch random.IntN(6) {
				case 0:
					e.Require = append(e.Require, j)
				case 1:
					if e.Type == "exec" {
						e.Subscribe = append(e.Subscribe, j)
					}
				}
			}
			cat.Entries = append(cat.Entries, e)
		}
		results, _ := runEntries(t, t.TempDir(), clone(cat))
		pending := map[string]bool{}
		for _, r := range results {
			e := cat.Entries[r.Index]
			pending[e.Ref()] = r.Status == wire.Changed || r.Status == wire.Failed
		}
		for _, r := range results {
			if r.Grade != modules.Certain && r.Status != wire.Skipped {
				require.True(t, pending[r.Because], "seed %d: %d depends on %q\n%s", seed, r.Index, r.Because, told(cat, results))
			}
		}
	}
}

// TestTriggers: a refreshed resource names the cause of its refresh, in a check run, too.
func TestTriggers(t *testing.T) {
	conf := func(path string) wire.Entry { return file("$/"+path, `"mode":"0644","content":"x"`) }
	reload := with(command("true", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{0, 1, 2} })
	entries := []wire.Entry{conf("a"), command("true", `"creates":"/"`), with(conf("b"), func(e *wire.Entry) { e.Alias = "conf" }), reload}
	for _, check := range []bool{true, false} {
		results, _ := runEntries(t, t.TempDir(), clone(wire.Catalog{Check: check, Entries: entries}))
		require.Equal(t, []string{"file#$/a", "file#conf"}, results[3].RefreshedBy)
		require.Empty(t, results[0].RefreshedBy)
	}
}

// told returns the outcome of each entry.
func told(cat wire.Catalog, results []wire.Result) string {
	text := fmt.Sprintf("parallel %d\n", cat.Parallel)
	for _, r := range results {
		e := cat.Entries[r.Index]
		text += fmt.Sprintf("%s: %s, requires %v, subscribes to %v: %s, because of %q\n", e.Ref(), e.Name, e.Require, e.Subscribe, brief([]wire.Result{r}), r.Because)
	}
	return text
}

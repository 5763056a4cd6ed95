package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

var errDead = errors.New("the process is no more")

// deadly is a host, and a journal on it, that nothing reaches any more from a certain
// step on: before that is done, or right after.
type deadly struct {
	mu    sync.Mutex
	steps int
	dies  int // step of the death; 0 means none
	after bool
	dead  bool
	text  []byte // text of the journal
}

func (d *deadly) step(_ string, do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps++
	if d.dead = d.dead || d.steps == d.dies && !d.after; d.dead {
		return errDead
	}
	err := do()
	d.dead = d.steps == d.dies
	return err
}

func (d *deadly) Read() ([]byte, error)     { return d.text, nil }
func (d *deadly) MayWrite() error           { return nil }
func (d *deadly) SetAside() (string, error) { return "", errors.New("there is no need") }

func (d *deadly) Replace(text []byte) error {
	return d.step("journal", func() error {
		d.text = text
		return nil
	})
}

// run works on a catalog, three entries at once, until it dies.
func (d *deadly) run(t *testing.T, cat wire.Catalog) []wire.Result {
	t.Helper()
	cat.Parallel = 3
	e := enginetest.New()
	e.Host = dying(e.Host, d)
	e.Refreshes = d
	results, _ := enginetest.Run(t, e, "", cat)
	return results
}

// TestNoRefreshIsLostByADeathAtOnce kills runs of entries at once at each of their steps.
// The next run refreshes what the killed one did not; the third does nothing.
func TestNoRefreshIsLostByADeathAtOnce(t *testing.T) {
	seeds := uint64(15)
	if testing.Short() {
		seeds /= 5
	}
	for seed := range seeds {
		for _, after := range []bool{false, true} {
			for dies, died := 1, true; died; dies++ {
				what := fmt.Sprintf("seed %d, killed at step %d (after it: %v)", seed, dies, after)
				f := makeFable(rand.New(rand.NewPCG(seed, 1)), t.TempDir())
				d := &deadly{}
				d.run(t, f.catalog(1, false))
				f.ran(t)
				require.Empty(t, d.text, what)

				d = &deadly{dies: dies, after: after}
				d.run(t, f.catalog(2, false))
				died = d.dead
				first := f.ran(t)
				d = &deadly{text: d.text}
				d.run(t, f.catalog(2, false))
				total := f.ran(t)
				for name, n := range first {
					total[name] += n
				}
				again := 0
				for name, n := range f.expected() {
					require.GreaterOrEqual(t, total[name], n, what+": "+name)
					again += total[name] - n
				}
				require.LessOrEqual(t, again, 3, "those that had run, and nobody could say so: "+what)
				require.Empty(t, d.text, what)
				require.NotContains(t, brief(d.run(t, f.catalog(2, false))), "changed", what)
			}
		}
	}
}

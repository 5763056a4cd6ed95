package modtest

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/listen"
)

// ways to change a path, as an editor, a person or another program would.
var ways = []struct {
	name string
	do   func(path string) error
}{
	{"written", func(p string) error { return os.WriteFile(p, []byte("changed by somebody else\n"), 0o600) }},
	{"replaced", func(p string) error {
		if err := os.WriteFile(p+".new", []byte("replaced by somebody else\n"), 0o644); err != nil {
			return err
		}
		return os.Rename(p+".new", p)
	}},
	{"removed", os.RemoveAll},
	{"with another mode", func(p string) error { return os.Chmod(p, 0o711) }},
	{"truncated", func(p string) error { return os.Truncate(p, 0) }},
	{"exchanged for a directory", func(p string) error {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(p, "other"), 0o755)
	}},
	{"moved away", func(p string) error { return os.Rename(p, p+".old") }},
	{"exchanged for a link", func(p string) error {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
		return os.Symlink("nowhere", p)
	}},
	{"with something new in it", func(p string) error { return os.WriteFile(filepath.Join(p, "new"), nil, 0o644) }},
}

// fewPlaces is the number of places that a short test changes.
const fewPlaces = 3

// watched tests a [modules.Watcher]: once the resource is in its desired state, every change that causes another
// verdict must cause a hint, unless something is polled. Every place below the root is changed, in one way each; a
// short test changes a few of them.
func (f *Fixture) watched(t *testing.T, typ modules.Type) {
	root, res := f.build(t, typ)
	watcher, ok := res.(modules.Watcher)
	if !ok {
		return
	}
	var below []string
	for path := range f.settled(t, res, root) {
		below = append(below, path)
	}
	from, err := watcher.Watch(t.Context(), modules.ReadOnly(Host()))
	require.NoError(t, err)
	if from.Polled != "" {
		return
	}
	slices.Sort(below)
	if testing.Short() {
		r := rand.New(rand.NewPCG(uint64(len(below)), uint64(len(f.Properties))))
		r.Shuffle(len(below), func(i, k int) { below[i], below[k] = below[k], below[i] })
		below = below[:min(len(below), fewPlaces)]
	}
	for i, path := range below {
		for k := range ways {
			way := ways[(i+k)%len(ways)]
			root, res := f.build(t, typ)
			f.settled(t, res, root)
			if f.told(t, res, way.name+": "+path, func() error { return way.do(filepath.Join(root, path)) }) {
				break
			}
		}
	}
}

// settled applies the resource, if possible, and returns the state below the root after that.
func (f *Fixture) settled(t *testing.T, res modules.Resource, root string) map[string]Seen {
	t.Helper()
	if plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(Host())); err == nil && plan.Pending() {
		_ = res.Apply(t.Context(), Host(), plan) // some fixtures are about what fails
	}
	return Snapshot(t, root)
}

// told changes something, and requires a hint of another verdict. It reports whether something was changed.
func (f *Fixture) told(t *testing.T, res modules.Resource, what string, change func() error) (done bool) {
	t.Helper()
	verdict := func() (string, []modules.Change, string) {
		plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(Host()))
		if err != nil {
			return "", nil, err.Error()
		}
		return plan.Action, plan.Changes, ""
	}
	action, changes, failed := verdict()
	from, err := res.(modules.Watcher).Watch(t.Context(), modules.ReadOnly(Host()))
	require.NoError(t, err)
	if from.Polled != "" {
		return true
	}
	l, err := listen.New(func(line string) { t.Log(line) })
	require.NoError(t, err)
	defer l.Close()
	polled, err := l.Listen(t.Context(), []modules.Sources{from})
	require.NoError(t, err)
	if polled[0] != "" { // this machine cannot listen there
		return true
	}
	hinted(t, l)
	if change() != nil {
		return false // there is no such thing here
	}
	action2, changes2, failed2 := verdict()
	if action != action2 || failed != failed2 || !reflect.DeepEqual(changes, changes2) {
		require.Equal(t, []int{0}, hinted(t, l), "%s: %q %v %q has become %q %v %q, which %+v do not tell",
			what, action, changes, failed, action2, changes2, failed2, from)
	}
	return true
}

// hinted are the sources that were hinted at so far.
func hinted(t *testing.T, l *listen.Listener) []int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, l.Drain(ctx))
	select {
	case h := <-l.Hints():
		return h.Sources
	default:
		return nil
	}
}

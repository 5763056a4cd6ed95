package modtest

import (
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// A Fixture is one resource in one situation. Texts may use $ROOT, $UID and
// $GID.
type Fixture struct {
	Name       string
	Tree       []Node // the files before the check
	Properties string // JSON, the properties of the resource
	Action     string // the expected action; "" if the resource is stable
	Changes    []modules.Change
	Err        string // the expected error of Check, instead of an action
	// Prepare, if set, does to the root what a tree is too little for, such as run a program.
	Prepare func(t *testing.T, root string)
	// Opaque is a directory below the root with the internal files of a program, such as .git. Its content differs each
	// time, and only the type understands it. Check must not change it either.
	Opaque string
	// Stays is a pattern, see [path.Match], of paths below the root that a reversal does not bring back: requested copies,
	// and a file whose content means nothing.
	Stays string
	// Passing is a pattern, see [path.Match], of paths below the root that are gone after a boot, in addition to those
	// below proc, sys, dev, run, bin and tmp.
	Passing string
	// Outside contains absolute paths of trees outside the root in which Apply may change something.
	Outside []string
	// Kept is a pattern of paths below the root (see [path.Match]). At or below these paths a test program keeps its
	// files; the real program keeps them at or below KeptAs. KeptAs is empty if the real program has no such path.
	Kept, KeptAs string
	// Declared, if set, records the declared paths of several calls of [Converges]. The caller judges them.
	Declared *Declared
	Past     bool // no property depends on the state before: a failure, an unread file
}

// Change is the difference that a property makes.
func Change(property, have, want string) modules.Change {
	return modules.Change{Property: property, Have: have, Want: want}
}

// Converges checks the contract of a type in every situation:
//   - Check changes nothing, not even a time, and finds the difference that the fixture expects;
//   - Apply succeeds, all predicted effects hold, and a second Check finds nothing to do
//     (or Verify, for a type that has it);
//   - every path that Apply changes lies within the effects of the plan, and at every path
//     that plans declare a fixture changes something;
//   - an Apply that is cancelled, before it begins or in the middle of a
//     content, leaves the old state or the new one and nothing else;
//   - in a check run of a catalog that has the resource twice, certain predictions come true: the
//     second one is predicted for the state after the first one;
//   - if a step of Apply is refused, no refused content is left for the next boot, or the
//     error names it;
//   - if Apply is killed between two steps, no lasting file has content that a later step could refuse;
//   - the state that it reports, and the values that it sends to others, are JSON;
//   - the reversal that a [modules.Reverser] returns before Apply restores the state before;
//   - where a [modules.Watcher] listens, it is notified of every change that causes another verdict.
//
// With -short, one fixture among many is checked for the first three of these, and for a third of the others, which
// CCM_SEED chooses.
func Converges(t *testing.T, typ modules.Type, fixtures ...Fixture) {
	own := &Declared{}
	turn := turns(t, len(fixtures))
	for i, f := range fixtures {
		t.Run(f.Name, func(t *testing.T) {
			before, after, opened := f.run(t, typ, cmp.Or(f.Declared, own))
			parts := 0
			part := func(name string, do func(t *testing.T)) {
				if parts++; turn(i + parts) {
					t.Run(name, do)
				}
			}
			part("twice", func(t *testing.T) { f.twice(t, typ) })
			part("watched", func(t *testing.T) { f.watched(t, typ) })
			if f.Action == "" {
				return
			}
			part("refused", func(t *testing.T) { f.refused(t, typ, before, after) })
			part("killed", func(t *testing.T) { f.killed(t, typ, before) })
			part("reversed", func(t *testing.T) { f.reversed(t, typ) })
			part("cancelled before", func(t *testing.T) { f.cancelled(t, typ, before, after, cancelAtOnce) })
			if opened {
				part("cancelled in mid-content", func(t *testing.T) { f.cancelled(t, typ, before, after, cancelInContent) })
			}
		})
	}
	if !loose[typ.Name] {
		own.tight(t, len(fixtures))
	}
}

// manyFixtures is the number of fixtures from which on -short chooses among the parts of [Converges].
const manyFixtures = 20

// turns returns whether the part with a number takes place.
func turns(t *testing.T, fixtures int) func(n int) bool {
	if !testing.Short() || fixtures < manyFixtures {
		return func(int) bool { return true }
	}
	seed := time.Now().Unix()
	if text := os.Getenv("CCM_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
	}
	seed %= 3
	t.Logf("CCM_SEED=%d", seed)
	return func(n int) bool { return (n+int(seed))%3 == 0 }
}

// run takes the fixture through check, apply and check, and returns the states before and after. opened reports whether
// Apply has opened a content.
func (f *Fixture) run(t *testing.T, typ modules.Type, paths *Declared) (before, after map[string]Seen, opened bool) {
	paths.ran++
	root, res := f.build(t, typ)
	h := Host()
	h.Report = teller{h.Report, t}
	untouched := Snapshot(t, root)
	before = f.state(t, root)

	plan, err := modules.Compare(t.Context(), res, looking(h))
	answers(t, h, res)
	require.Equal(t, untouched, Snapshot(t, root), "Check has changed something")
	if f.Err != "" {
		require.EqualError(t, err, expand(f.Err, root))
		return before, before, false
	}
	require.NoError(t, err)
	require.Equal(t, expand(f.Action, root), plan.Action)
	require.Equal(t, f.changes(root), plan.Changes)
	sends(t, h, res)
	if !plan.Pending() {
		return before, before, false
	}

	contents := &watched{Contents: h.Contents}
	onto := h
	onto.Contents = contents
	elsewhere := f.outside(t)
	require.NoError(t, res.Apply(t.Context(), onto, plan))
	holds(t, h, plan.Effects)
	converged(t, h, res, plan)
	sends(t, h, res)
	after = f.state(t, root)
	paths.within(t, f, root, before, elsewhere, after, plan.Effects)
	return before, after, contents.opened
}

// watched are contents of which is known whether one was opened.
type watched struct {
	modules.Contents
	opened bool
}

func (w *watched) Open(ctx context.Context, content modules.Content) (io.ReadCloser, error) {
	w.opened = true
	return w.Contents.Open(ctx, content)
}

// looking returns the read-only Host of a Check, with the reporter of h.
func looking(h modules.Host) modules.Host {
	l := modules.ReadOnly(h)
	l.Report = h.Report
	return l
}

func (f *Fixture) build(t *testing.T, typ modules.Type) (root string, res modules.Resource) {
	root = Root(t)
	Build(t, root, f.Tree)
	if f.Prepare != nil {
		f.Prepare(t, root)
	}
	return root, Decode(t, modules.Registry{typ}, typ.Name, f.Properties, root)
}

// state is the [State] without opaque files.
func (f *Fixture) state(t *testing.T, root string) map[string]Seen {
	all := State(t, root)
	maps.DeleteFunc(all, func(name string, _ Seen) bool { return f.Opaque != "" && strings.HasPrefix(name, f.Opaque+"/") })
	return all
}

func (f *Fixture) changes(root string) []modules.Change {
	var changes []modules.Change
	for _, c := range f.Changes {
		changes = append(changes, modules.Change{Property: c.Property, Have: expand(c.Have, root), Want: expand(c.Want, root)})
	}
	return changes
}

// converged checks that a second Check finds nothing to do.
func converged(t *testing.T, h modules.Host, res modules.Resource, plan modules.Plan) {
	if v, ok := res.(modules.Verifier); ok {
		require.NoError(t, v.Verify(t.Context(), h, plan))
		return
	}
	again, err := modules.Compare(t.Context(), res, looking(h))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, again, "a second Check finds something")
}

// holds looks whether effects on paths have come true.
func holds(t *testing.T, h modules.Host, effects []modules.Effect) {
	for _, e := range effects {
		if e.Kind != modules.PathEffect {
			continue
		}
		want := e.State.(modules.PathState)
		have, err := h.Files.Stat(e.Key)
		if want.Kind == modules.Absent {
			require.Error(t, err, "%s is still there", e.Key)
			continue
		}
		require.NoError(t, err)
		if want.Partial {
			continue
		}
		if want.Kind == modules.Symlink { // its group and mode mean nothing; its owner shows which user may have planted it
			have = modules.FileInfo{Kind: have.Kind, Target: have.Target, UID: have.UID}
		}
		if want.UID == modules.PlaceholderID(h.Accounts.UserName(t.Context(), have.UID)) {
			want.UID = have.UID
		}
		if want.GID == modules.PlaceholderID(h.Accounts.GroupName(t.Context(), have.GID)) {
			want.GID = have.GID
		}
		require.Equal(t, want.FileInfo, have, e.Key)
		if !want.Content.IsZero() {
			digest, err := h.Files.Digest(e.Key)
			require.NoError(t, err)
			require.Equal(t, want.Content.SHA256(), digest, e.Key)
		}
	}
}

// cancelled applies the fixture under a context that end cancels.
func (f *Fixture) cancelled(t *testing.T, typ modules.Type, before, after map[string]Seen, end canceller) {
	root, res := f.build(t, typ)
	h := Host()
	plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = res.Apply(ctx, end(h, cancel), plan)
	state := f.state(t, root)
	if err != nil {
		require.Equal(t, before, state, "a failed Apply has left something: %v", err)
		return
	}
	require.Equal(t, after, state)
}

// A canceller returns a Host on which the run is cancelled at a certain moment.
type canceller func(h modules.Host, cancel context.CancelFunc) modules.Host

func cancelAtOnce(h modules.Host, cancel context.CancelFunc) modules.Host {
	cancel()
	return h
}

func cancelInContent(h modules.Host, cancel context.CancelFunc) modules.Host {
	h.Contents = cancelling{h.Contents, cancel}
	return h
}

type cancelling struct {
	modules.Contents
	cancel context.CancelFunc
}

func (c cancelling) Open(ctx context.Context, content modules.Content) (io.ReadCloser, error) {
	r, err := c.Contents.Open(ctx, content)
	if err != nil {
		return nil, err
	}
	return &cancellingReader{r, c.cancel}, nil
}

// A cancellingReader cancels after the first byte.
type cancellingReader struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancellingReader) Read(p []byte) (int, error) {
	defer c.cancel()
	return c.ReadCloser.Read(p[:min(1, len(p))])
}

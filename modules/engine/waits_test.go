package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestAtOnceOnOneThingByLinks has resources write to one file that they call by
// several names.
func TestAtOnceOnOneThingByLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "also")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real", "lines"), nil, 0o600))
	names := []string{"real/lines", "also/lines"}
	var cat wire.Catalog
	var want []string
	for i := range 60 {
		want = append(want, fmt.Sprintf("line %02d", i))
		cat.Entries = append(cat.Entries, wire.Entry{Type: "line", Name: want[i],
			Properties: fmt.Appendf(nil, `{"name":%q,"path":%q,"line":%q}`, want[i], dir+"/"+names[i%2], want[i])})
	}
	cat.Parallel = 8
	results := play(t, dir, cat, nil)
	for _, r := range results {
		require.Empty(t, r.Error)
	}
	require.Equal(t, strings.TrimSpace(strings.Repeat("changed ", 60)), brief(results))
	text, err := os.ReadFile(filepath.Join(dir, "real", "lines"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	require.Equal(t, want, lines)
}

// A dawdler takes its time to change a thing.
type dawdler struct {
	Name  string        `json:"name"`
	Thing string        `json:"thing"`
	Takes time.Duration `json:"takes"`
	done  bool
}

func (s *dawdler) Validate() error { return nil }

func (s *dawdler) Check(context.Context, modules.Host) (modules.Plan, error) {
	if s.done {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "changed it", Effects: []modules.Effect{{Kind: "thing", Key: s.Thing}}}, nil
}

func (s *dawdler) Apply(ctx context.Context, _ modules.Host, _ modules.Plan) error {
	select {
	case <-time.After(s.Takes):
		s.done = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func slowly(name string, takes, timeout time.Duration) wire.Entry {
	properties, _ := json.Marshal(dawdler{Name: name, Thing: "x", Takes: takes})
	return wire.Entry{Type: "dawdler", Name: name, Properties: properties, Timeout: timeout}
}

// runDawdlers runs entries of which all dawdle.
func runDawdlers(t *testing.T, cat wire.Catalog, change func(*engine.Engine)) []wire.Result {
	t.Helper()
	return play(t, t.TempDir(), cat, func(e *engine.Engine) {
		change(e)
		e.Host = system.New()
		e.Decode = func(e *wire.Entry) (modules.Resource, error) {
			s := new(dawdler)
			return s, json.Unmarshal(e.Properties, s)
		}
	})
}

// TestWaitingForOthersTakesNoTimeOfATry lets a resource with a short timeout wait for one that works on the same thing.
func TestWaitingForOthersTakesNoTimeOfATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := runDawdlers(t, wire.Catalog{Parallel: 2, Entries: []wire.Entry{
			slowly("a", 10*time.Second, 15*time.Second), slowly("b", 10*time.Second, 15*time.Second),
		}}, func(*engine.Engine) {})
		require.Empty(t, results[1].Error)
		require.Equal(t, "changed changed", brief(results))
	})
}

// TestReceiveFromWhatCannotBeForeseen has a check run in which it is unknown whether the sender will run.
func TestReceiveFromWhatCannotBeForeseen(t *testing.T) {
	entries := []wire.Entry{
		command("mkdir $/made", `"creates":"$/made"`),
		with(command("echo t0ken", `"cwd":"$/made/deep"`), func(e *wire.Entry) { e.Alias = "token" }),
		receiving(file("$/token", `"mode":"0600"`), wire.Receive{Property: "content", From: 1, Key: "stdout"}),
	}
	results := play(t, t.TempDir(), wire.Catalog{Check: true, Entries: entries}, nil)
	require.Equal(t, "changed? changed? changed?", brief(results))
	require.Contains(t, results[1].Message, "Would fail unless exec#")
	require.Equal(t, "Would have received content from exec#token; known after apply", results[2].Message)
	require.Equal(t, "exec#token", results[2].Because)
}

// TestSentForgetsInOneGo has one large value take the place of very many small ones.
func TestSentForgetsInOneGo(t *testing.T) {
	small := map[string]any{}
	for i := range 8400 {
		small[fmt.Sprintf("%064x", i)] = map[string]any{"time": time.Unix(int64(i), 0).UTC(), "values": map[string]any{"exit_code": 0}}
	}
	text, err := json.Marshal(small)
	require.NoError(t, err)
	require.Less(t, len(text), 1<<20)
	kept := &countingShelf{shelf: shelf{text: text}}
	entry := command("head -c 60000 /dev/zero | tr '\\\\0' A", "")
	entry.Export = []string{"stdout", "output"}
	r := play(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{entry}}, func(e *engine.Engine) { e.Sent = kept })[0]
	require.Equal(t, wire.Changed, r.Status, r.Error)
	require.Equal(t, 1, kept.writes)
	var left map[string]struct{ Time time.Time }
	require.NoError(t, json.Unmarshal(kept.text, &left))
	require.Less(t, len(kept.text), 1<<20)
	require.Greater(t, len(kept.text), 1<<20-2000, "no more than needed")
	oldest := len(small) + 1 - len(left)
	require.Contains(t, left, fmt.Sprintf("%064x", oldest))
	require.NotContains(t, left, fmt.Sprintf("%064x", oldest-1))
}

type countingShelf struct {
	shelf
	writes int
}

func (s *countingShelf) Replace(text []byte) error {
	s.writes++
	return s.shelf.Replace(text)
}

// TestWhoWaitsBeginsNothingInAPlayThatHasEnded has a resource wait for something that has
// nothing to do with the host, while the failure of another one ends the play.
func TestWhoWaitsBeginsNothingInAPlayThatHasEnded(t *testing.T) {
	failing := slowly("bad", time.Second, time.Millisecond)
	waiting := slowly("late", time.Second, 0)
	const skipped = `skipped because its manifest has "fail_on_error"`
	for _, test := range []struct {
		name   string
		change func(*wire.Entry)
		want   string
	}{
		{"for a value of another host", func(e *wire.Entry) { e.Receive = []wire.Receive{{Property: "name", From: -1}} }, skipped},
		{"for its semaphores", func(e *wire.Entry) { e.Sema = []string{"s"} }, skipped},
		{"for its next try", func(e *wire.Entry) { e.Timeout, e.Retry, e.Delay = time.Microsecond, 3, time.Hour }, "timed out after 1µs (timeout)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cat := wire.Catalog{Parallel: 2, FailOnError: true, Entries: []wire.Entry{failing, with(waiting, test.change)}}
				freed := 0
				results := runDawdlers(t, cat, func(e *engine.Engine) {
					e.Import = func(context.Context, int) (*wire.Imported, error) {
						time.Sleep(time.Minute)
						return &wire.Imported{Values: map[string]json.RawMessage{"name": json.RawMessage(`"late"`)}}, nil
					}
					e.Semaphores = func(context.Context, int, string) (func(), error) {
						time.Sleep(time.Minute)
						return func() { freed++ }, nil
					}
				})
				require.Len(t, results, 2)
				require.Equal(t, test.want, cmp.Or(results[1].Error, results[1].Message))
				require.Zero(t, results[1].Tries)
				require.Equal(t, len(cat.Entries[1].Sema), freed)
			})
		})
	}
}

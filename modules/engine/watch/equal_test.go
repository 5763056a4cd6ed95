package watch_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// verdict holds the parts of a result whose change is reported.
type verdict struct {
	Status  wire.Status
	Grade   modules.Grade
	Message string
	Error   string
	Changes []modules.Change
}

func verdictOf(r *wire.Result) verdict {
	v := verdict{cmp.Or(r.Status, wire.Stable), r.Grade, r.Message, r.Error, r.Changes}
	if v.Status == wire.Stable {
		v.Grade = modules.Certain
	}
	return v
}

// fresh returns the results of a check of the catalog without earlier checks.
func fresh(t *testing.T, e *engine.Engine, cat *wire.Catalog) []verdict {
	t.Helper()
	whole := *cat
	whole.Watch = nil
	all := make([]verdict, len(cat.Entries))
	_, err := e.Run(t.Context(), &whole, func(r *wire.Result) error {
		all[r.Index] = verdictOf(r)
		return nil
	})
	require.NoError(t, err)
	return all
}

// paths are the paths of the tests' catalogs: some are below others.
var paths = []string{"d", "d/a", "d/b", "d/e", "d/e/a", "c", "e", "f"}

// someCatalog is a catalog of directories, files, and commands that look at them, in which some
// depend on others, end their manifest, or rescue it.
func someCatalog(r *rand.Rand, dir string) *wire.Catalog {
	var entries []wire.Entry
	for range 3 + r.IntN(8) {
		path := filepath.Join(dir, paths[r.IntN(len(paths))])
		var e wire.Entry
		switch r.IntN(9) {
		case 8:
			e = wire.Entry{Type: "link", Name: path, Properties: fmt.Appendf(nil, `{"name":%q,"target":"c","force":true}`, path)}
		case 0, 1:
			e = enginetest.File(path, `"ensure":"directory","mode":"0755"`)
		case 2:
			e = enginetest.File(path, `"ensure":"absent"`)
		case 3:
			e = enginetest.Command("echo "+path, fmt.Sprintf(`"unless":"test -e %s"`, path))
		case 4:
			e = enginetest.Command("echo again "+path, fmt.Sprintf(`"creates":%q`, path))
		case 5:
			e = enginetest.Command("echo refreshed", `"refreshonly":true`)
		default:
			e = enginetest.File(path, fmt.Sprintf(`"mode":"0644","content":"%d"`, r.IntN(2)))
		}
		i := len(entries)
		for k := range i {
			switch r.IntN(8) {
			case 0:
				e.Require = append(e.Require, k)
			case 1:
				if e.Type == "exec" {
					e.Subscribe = append(e.Subscribe, k)
				}
			case 2:
				e.After = append(e.After, k)
			}
		}
		e.Check = r.IntN(10) == 0
		entries = append(entries, e)
	}
	if r.IntN(3) == 0 {
		n := 1 + r.IntN(len(entries))
		scope := &wire.Scope{Entries: n, FailOnError: r.IntN(2) == 0}
		if r.IntN(2) == 0 && n > 2 {
			scope.Block = &wire.Block{Rescue: 1, Always: 1}
		}
		entries = append(entries, wire.Entry{Type: "block", Name: "b", Scope: scope})
	}
	cat := watched(1, entries...)
	cat.Parallel = []int{0, 1, 4}[r.IntN(3)]
	cat.FailOnError = r.IntN(4) == 0
	return cat
}

// edit changes a path, whatever its state, and returns the first changed path.
func edit(r *rand.Rand, path string) (first string) {
	for first = path; ; first = filepath.Dir(first) {
		if _, err := os.Lstat(filepath.Dir(first)); err == nil {
			break
		}
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	switch r.IntN(6) {
	case 0:
		_ = os.RemoveAll(path)
	case 1:
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(path, 0o755)
	case 2:
		_ = os.Chmod(path, []os.FileMode{0o755, 0o644, 0o600}[r.IntN(3)])
	default:
		_ = os.WriteFile(path, fmt.Append(nil, r.IntN(2)), 0o644)
	}
	return first
}

// TestToldIsWhatAFreshCheckFinds checks the main rule: the results and all later reports together equal a check of all
// entries. It does not matter which entries were checked.
func TestToldIsWhatAFreshCheckFinds(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for seed := range rounds {
		ok := t.Run("", func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				defer func() { // so that it can be removed
					for _, path := range paths {
						_ = os.Chmod(filepath.Join(s.dir, path), 0o755)
					}
				}()
				r := rand.New(rand.NewPCG(20, uint64(seed)))
				for range 10 {
					edit(r, filepath.Join(s.dir, paths[r.IntN(len(paths))]))
				}
				cat := someCatalog(r, s.dir)
				results, _ := s.begin(cat)
				known := make([]verdict, len(cat.Entries))
				for _, r := range results {
					known[r.Index] = verdictOf(r)
				}
				require.Equal(t, fresh(t, s.engine, cat), known)
				for range 12 {
					for range 1 + r.IntN(3) {
						path := edit(r, filepath.Join(s.dir, paths[r.IntN(len(paths))]))
						var h listen.Hint
						for i := range cat.Entries {
							// In this test, the files that a command reads are sources, too.
							if e := &cat.Entries[i]; e.Scope == nil && looksAt(e, path) {
								h.Sources = append(h.Sources, i)
							}
						}
						s.ears.hints <- h
						time.Sleep(time.Duration(r.IntN(2)) * settle / 2) // some have settled before others
					}
					for _, w := range s.after(3 * settle) { // some are checked again when more places are listened to
						for _, r := range w.Results {
							known[r.Index] = verdictOf(r)
						}
					}
					require.Equal(t, fresh(t, s.engine, cat), known, "seed %d: %+v", seed, cat.Entries)
				}
			})
		})
		if !ok {
			return
		}
	}
}

// looksAt reports whether a path may matter to an entry.
func looksAt(e *wire.Entry, path string) bool {
	words := strings.Fields(e.Name)
	places := []string{words[len(words)-1]}
	if e.Type == "link" {
		places = append(places, filepath.Join(filepath.Dir(e.Name), "c"))
	}
	return slices.ContainsFunc(places, func(at string) bool {
		return strings.HasPrefix(at+"/", path+"/") || strings.HasPrefix(path+"/", at+"/")
	})
}

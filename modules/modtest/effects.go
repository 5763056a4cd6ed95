package modtest

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// noise are patterns, see [path.Match], of paths outside of the root that programs change by the way: locks, and
// the copies that shadow-utils keeps of the files before. No resource reads them.
var noise = []string{"/etc/.pwd.lock", "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-",
	"/var/log/lastlog", "/var/log/faillog"}

// loose are the types whose effects may be wider than the changes of a fixture: the programs that they start decide.
var loose = map[string]bool{"package": true, "upgrade": true, "exec": true, "archive": true, "scaffold": true, "git": true, "dsc": true, "ral": true}

// Declared records the paths that plans of one type declare, and whether a fixture changes something at each.
type Declared struct {
	ran     int
	changed map[string]bool
}

// Paths returns the declared paths at which a fixture changes something, and those at which none does.
func (d *Declared) Paths() (changed, unchanged []string) {
	for _, key := range slices.Sorted(maps.Keys(d.changed)) {
		if d.changed[key] {
			changed = append(changed, key)
		} else {
			unchanged = append(unchanged, key)
		}
	}
	return changed, unchanged
}

// outside describes the trees outside of the root that the fixture names.
func (f *Fixture) outside(t *testing.T) map[string]Seen {
	all := map[string]Seen{}
	for _, tree := range f.Outside {
		for name, s := range State(t, tree) {
			all[path.Join(tree, name)] = s
		}
	}
	return all
}

func joined(a, b map[string]Seen) map[string]Seen {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// kernels reports whether a path below the root stands for one that only the kernel changes.
func kernels(name string) bool { return inside(name, "proc") || inside(name, "sys") }

// kept reports whether a program of the test keeps a path below the root, or what the path is in.
func (f *Fixture) kept(name string) bool {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if ok, _ := path.Match(f.Kept, name); ok {
			return true
		}
	}
	return false
}

// within requires that every path that Apply has changed lies within the effects of its plan.
func (d *Declared) within(t *testing.T, f *Fixture, root string, before, outsideBefore, after map[string]Seen, effects []modules.Effect) {
	t.Helper()
	changed := map[string]bool{}
	before, after = joined(before, outsideBefore), joined(after, f.outside(t))
	for _, name := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
		was, is := before[name], after[name]
		if was != is && f.kept(name) {
			for _, e := range effects {
				if f.KeptAs != "" && onPath(e) && inside(e.Key, expand(f.KeptAs, root)) {
					changed[e.Key] = true
				}
			}
			if f.KeptAs != "" {
				require.NotEmpty(t, changed, "Apply has changed %s, and no effect of the plan is at or below %s: %s", name, f.KeptAs, paths(effects))
			}
			continue
		}
		if was != is && !kernels(name) && !slices.ContainsFunc(noise, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			if !path.IsAbs(name) {
				name = path.Join(root, name)
			}
			changed[name] = true
		}
	}
	for name := range changed {
		require.True(t, slices.ContainsFunc(effects, func(e modules.Effect) bool { return reaches(e, name) }),
			"Apply has changed %s, which is not within the effects of the plan: %s", name, paths(effects))
	}
	for _, e := range effects {
		if on := strings.TrimPrefix(e.Key, root); !onPath(e) || kernels(on[1:]) || on == "/dev" {
			continue
		}
		key := strings.Replace(e.Key, root, "$ROOT", 1)
		if d.changed == nil {
			d.changed = map[string]bool{}
		}
		d.changed[key] = d.changed[key] || slices.ContainsFunc(slices.Collect(maps.Keys(changed)), func(name string) bool { return reaches(e, name) })
	}
}

// tight requires that something changes, in some fixture, at each declared path.
func (d *Declared) tight(t *testing.T, fixtures int) {
	if d.ran < fixtures { // -run has chosen some
		return
	}
	_, unchanged := d.Paths()
	require.Empty(t, unchanged, "plans declare %s, and no fixture changes anything there", strings.Join(unchanged, ", "))
}

func onPath(e modules.Effect) bool {
	return e.Kind == modules.PathEffect || e.Kind == modules.BelowEffect || e.Kind == modules.DiffersEffect
}

// reaches reports whether an effect covers a change of a path.
func reaches(e modules.Effect, name string) bool {
	if e.Anywhere() {
		return true
	}
	if !onPath(e) {
		return false
	}
	key := e.Key
	if dir, err := filepath.EvalSymlinks(path.Dir(key)); err == nil {
		key = path.Join(dir, path.Base(key))
	}
	if e.Kind == modules.BelowEffect {
		if whole, err := filepath.EvalSymlinks(e.Key); err == nil && inside(name, whole) {
			return true
		}
	}
	state, _ := e.State.(modules.PathState)
	return name == key || name == e.Key || (e.Kind == modules.BelowEffect || state.Kind == modules.Absent && e.Kind == modules.PathEffect) && inside(name, key)
}

func inside(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func paths(effects []modules.Effect) []string {
	var all []string
	for _, e := range effects {
		if onPath(e) {
			all = append(all, string(e.Kind)+" "+e.Key)
		}
	}
	return all
}

// Kept sets Kept and KeptAs of fixtures.
func Kept(pattern, as string, fixtures []Fixture) []Fixture {
	for i := range fixtures {
		fixtures[i].Kept, fixtures[i].KeptAs = pattern, as
	}
	return fixtures
}

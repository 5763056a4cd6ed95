package service

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// noFiles is a file system without files.
type noFiles struct{ modules.FileReader }

func (noFiles) Stat(string) (modules.FileInfo, error) { return modules.FileInfo{}, fs.ErrNotExist }

var (
	states     = []string{"active", "reloading", "refreshing", "inactive", "failed", "activating", "deactivating", "maintenance", crashed}
	fileStates = []string{
		"enabled", "enabled-runtime", "linked", "linked-runtime", "alias", "masked", "masked-runtime", "static",
		"indirect", "disabled", "generated", "transient", "bad", "",
	}
)

// TestBootStates finds each word of systemctl, and its meaning for enable, in the table of the type's details.
func TestBootStates(t *testing.T) {
	text, err := os.ReadFile("examples/details.md")
	require.NoError(t, err)
	row := func(state bootState) string {
		switch {
		case state.fixed:
			return "nothing to do | refused |"
		case state.boots:
			return "nothing to do | disables it |"
		case state.off:
			return "enables it | nothing to do |"
		}
		return "enables it | disables it |"
	}
	is := func(want, cell string) {
		t.Helper()
		require.Regexp(t, `(?m)^\| (.*, )?(or )?`+regexp.QuoteMeta(cell)+`(, .*)? \| `+regexp.QuoteMeta(want)+`$`, string(text))
	}
	for word, state := range bootStates {
		switch word {
		case "masked", "masked-runtime", "bad":
			is("refused | nothing to do |", "`"+word+"`")
		case "":
			is("refused | nothing to do |", "no word")
		case "indirect":
			is(row(state), "`indirect`, without `Also=`")
		default:
			is(row(state), "`"+word+"`")
		}
	}
	is(row(unit{also: true}.enabling()), "`indirect`, with `Also=`, no unit of it enabled")
	is(row(unit{also: true, linked: true}.enabling()), "`indirect`, with `Also=`, a unit of it enabled")
}

// everyUnit visits all the combinations of states that a unit can be in.
func everyUnit(visit func(unit)) {
	for _, state := range states {
		for _, fileState := range fileStates {
			for bits := range 16 {
				u := unit{id: "a.service", names: []string{"a.service"}, file: "/a", state: state, fileState: fileState}
				u.stale = bits&1 != 0
				if bits&2 != 0 {
					u.broken = "it is broken"
				}
				if bits&4 != 0 && state == "inactive" {
					u.missing, u.fileState = true, ""
				}
				if u.also = bits&8 != 0 && fileState == "indirect"; u.also {
					u.linked = bits&1 != 0
				}
				visit(u)
			}
		}
	}
}

// everyService visits all valid combinations of ensure, enable and masked.
func everyService(t *testing.T, visit func(*Service)) {
	yes, no := true, false
	for _, ensure := range []string{running, stopped} {
		for _, enable := range []*bool{nil, &yes, &no} {
			for _, masked := range []*bool{nil, &yes, &no} {
				s := &Service{Name: "a", Ensure: ensure, Enable: enable, Masked: masked, Timeout: "90s"}
				require.NoError(t, modules.CheckTags(s))
				if s.Validate() == nil {
					visit(s)
				}
			}
		}
	}
}

// TestDecisions combines every service with every state: after the decided verbs no verbs are left, and Verify
// succeeds.
func TestDecisions(t *testing.T) {
	decided, refused := 0, 0
	everyService(t, func(s *Service) {
		everyUnit(func(u unit) {
			what := fmt.Sprintf("%+v on %+v", *s, u)
			verbs, err := on(s, noFiles{}, u).verbs()
			if err != nil {
				refused++
				return
			}
			decided++
			then := after(u, verbs)
			require.NoError(t, s.verify(t.Context(), modules.Host{}, &task{}, then), what)
			again, err := on(s, noFiles{}, then).verbs()
			if slices.Contains(verbs, unmask) && s.Enable == nil && s.Ensure == stopped {
				return // the state below the mask may be a refused one
			}
			require.NoError(t, err, what)
			require.Empty(t, again, what)
			require.Equal(t, len(verbs) > 0, action(verbs) != "" && len(changes(u, verbs)) > 0, what)
		})
	})
	require.Positive(t, refused)
	require.Greater(t, decided, refused)
}

// TestCCM checks the decisions against CCM's table: the verbs for an existing unit, by its two dimensions.
func TestCCM(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		ensure           string
		enable           *bool
		state, fileState string
		action           string
	}{
		{running, nil, "active", "disabled", ""},
		{running, nil, "inactive", "disabled", "started"},
		{running, nil, "failed", "disabled", "started"},
		{running, nil, "activating", "disabled", "started"},
		{stopped, nil, "inactive", "enabled", ""},
		{stopped, nil, "failed", "enabled", ""},
		{stopped, nil, "active", "enabled", "stopped"},
		{running, &yes, "active", "enabled", ""},
		{running, &yes, "active", "disabled", "enabled"},
		{running, &yes, "inactive", "disabled", "started and enabled"},
		{running, &yes, "inactive", "static", "started"},
		{running, &no, "active", "disabled", ""},
		{running, &no, "active", "enabled", "disabled"},
		{running, &no, "inactive", "enabled", "started and disabled"},
		{stopped, &yes, "inactive", "disabled", "enabled"},
		{stopped, &yes, "active", "disabled", "stopped and enabled"},
		{stopped, &no, "active", "enabled-runtime", "stopped and disabled"},
		{stopped, &no, "inactive", "masked", ""},
	} {
		s := &Service{Name: "a", Ensure: tc.ensure, Enable: tc.enable}
		verbs, err := on(s, noFiles{}, unit{id: "a.service", file: "/a", state: tc.state, fileState: tc.fileState}).verbs()
		require.NoError(t, err)
		if len(verbs) == 0 {
			require.Empty(t, tc.action, "%+v", tc)
			continue
		}
		require.Equal(t, tc.action, action(verbs), "%+v", tc)
	}
}

// TestActionRefused requests impossible actions.
func TestActionRefused(t *testing.T) {
	for action, refused := range map[string]struct {
		unit
		err string
	}{
		reloaded:  {unit{id: "a.service", state: "active", fileState: "enabled"}, "service a.service cannot be reloaded; action=restarted restarts it"},
		restarted: {unit{id: "a.service", state: "active", fileState: "masked"}, "service a.service is masked, so it cannot be restarted; write masked: false as well"},
	} {
		s := &Service{Name: "a", Ensure: running, Action: action}
		_, err := (&found{s, modules.Host{}, systemd{}, refused.unit}).again(nil, action == reloaded)
		require.EqualError(t, err, refused.err)
	}
}

func TestOrder(t *testing.T) {
	s := &Service{Name: "a", Ensure: running}
	yes, no := true, false
	s.Enable, s.Masked = &yes, &no
	u := unit{id: "a.service", file: "/a", state: "inactive", fileState: "masked", stale: true}
	verbs, err := on(s, noFiles{}, u).verbs()
	require.NoError(t, err)
	require.Equal(t, []verb{reread, unmask, enable, start}, verbs)
	require.Equal(t, "unmasked, started and enabled", action(verbs))

	s.Ensure, s.Enable, s.Masked = stopped, &no, &yes
	u = unit{id: "a.service", file: "/a", state: "active", fileState: "enabled"}
	verbs, err = on(s, noFiles{}, u).verbs()
	require.NoError(t, err)
	require.Equal(t, []verb{stop, disable, mask}, verbs)
	require.Equal(t, "stopped, disabled and masked", action(verbs))
}

// oneFile is a file system with one file.
type oneFile struct {
	noFiles
	path string
}

func (f oneFile) Stat(name string) (modules.FileInfo, error) {
	if name != f.path {
		return f.noFiles.Stat(name)
	}
	return modules.FileInfo{Kind: modules.Regular, Size: 1}, nil
}

// TestNewFile checks that a unit which systemd does not know yet is read, and enabled unless it is generated.
func TestNewFile(t *testing.T) {
	for path, want := range map[string][]verb{
		"/etc/systemd/system/a.service":     {reread, enable, start},
		quadlets + "/a.container":           {reread, start},
		"/etc/systemd/system/other.service": nil,
	} {
		files := oneFile{path: path}
		u, err := compareWithDisk(files, unit{id: "a.service", names: []string{"a.service"}, state: "inactive", missing: true})
		require.NoError(t, err)
		yes := true
		verbs, err := on(&Service{Name: "a", Ensure: running, Enable: &yes}, files, u).verbs()
		if want == nil {
			require.EqualError(t, err, "service a.service not found; install it first, or correct its name")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, verbs, path)
	}
}

// on is a service with its unit on a host of systemd.
func on(s *Service, files modules.FileReader, u unit) *found {
	return &found{s, modules.Host{Files: modules.Files{FileReader: files}}, systemd{}, u}
}

// foretold has predicted states by kind and key.
type foretold map[string]any

func (f foretold) Lookup(kind modules.EffectKind, key string) (any, bool) {
	if kind == modules.RereadEffect { // no path changes after it
		key = ""
	}
	state, ok := f[string(kind)+" "+key]
	return state, ok
}

// listedFiles has directories with empty files in them.
type listedFiles struct {
	noFiles
	names map[string][]string
}

func (listedFiles) Open(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

func (f listedFiles) List(dir string) ([]string, error) { return f.names[dir], nil }

func (f listedFiles) Stat(name string) (modules.FileInfo, error) {
	if !slices.Contains(f.names[path.Dir(name)], path.Base(name)) {
		return f.noFiles.Stat(name)
	}
	return modules.FileInfo{Kind: modules.Regular, Size: 1}, nil
}

// allRights are the rights of root.
type allRights struct{ modules.FileRights }

func (allRights) MayCreate(modules.Attributes) error { return nil }
func (allRights) MayReplace(string) error            { return nil }

// TestDropInsOfBroughtUnits checks which drop-ins of a pending package's unit systemd has read.
func TestDropInsOfBroughtUnits(t *testing.T) {
	b := Brought{ID: "a.service", File: "/usr/lib/systemd/system/a.service", Text: "[Service]\nExecStart=/a\n", Started: true, DropIns: []string{"early.conf"}}
	files := listedFiles{names: map[string][]string{"/etc/systemd/system": {"a.service.d"}, "/etc/systemd/system/a.service.d": {"early.conf"}}}
	units := foretold{}
	for _, e := range BroughtEffects([]Brought{b}) {
		units[string(e.Kind)+" "+e.Key] = e.State
	}
	stale := func() bool {
		h := modules.Host{Files: modules.Files{FileReader: files}, Forecast: units}
		u, err := systemd{}.look(t.Context(), h, "a")
		require.NoError(t, err)
		require.True(t, u.runs())
		return u.stale
	}
	require.False(t, stale(), "it was there before")
	files.names["/etc/systemd/system/a.service.d"] = []string{"early.conf", "late.conf"}
	require.True(t, stale())

	yes := true
	other := on(&Service{Name: "b", Ensure: running, Enable: &yes}, files, unit{id: "b.service", names: []string{"b.service"}, state: "active", fileState: "disabled"})
	other.h.Files.FileRights = allRights{}
	verbs, err := other.verbs()
	require.NoError(t, err)
	p, err := other.plan(verbs)
	require.NoError(t, err)
	for _, e := range p.Effects {
		if e.Kind == modules.RereadEffect {
			units[string(e.Kind)+" "+e.Key] = e.State
		}
	}
	require.False(t, stale(), "systemctl enable b.service reads all unit files again")
}

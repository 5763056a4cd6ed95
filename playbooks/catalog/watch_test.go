package catalog

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

const watchedManifest = `data: {night: 1h}
watch: {mode: repair, poll: 5m, quiet: [{file: /run/off}], repair: {budget: 9}}
defaults: {exec: {watch: {settle: 4s}}}
ccm:
  resources:
    - exec:
        - as the type:
        - off: {watch: off}
        - of a variable: {watch: {poll: "{{ Data.night }}", settle: 0}}
        - no more: {control: {if: "false"}, watch: report}
    - block:
        - exec:
            - inner: {watch: {repair: {budget: 1}}}
        - link: [/inner: {target: /x}]
      watch: {mode: report, settle: 1m}
    - apply:
        - nested.yaml: {watch: {poll: 0}}
`

// watchCompiler returns the compiler of a manifest with many watch settings.
func watchCompiler(t *testing.T, options Options) *Compiler {
	t.Helper()
	folder := t.TempDir()
	nested := "ccm: {resources: [link: [/nested: {target: /y}]]}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "nested.yaml"), []byte(nested), 0o600))
	path := filepath.Join(folder, "site.yaml")
	require.NoError(t, os.WriteFile(path, []byte(watchedManifest), 0o600))
	plays, err := load.Files(t.Context(), []string{path}, builtin.Types())
	require.NoError(t, err)
	c, err := New(plays[0], options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestWatchRules checks that a resource's own settings override the settings of its surroundings and of the play.
func TestWatchRules(t *testing.T) {
	ofCommandLine := watch.Defaults()
	ofCommandLine.Mode, ofCommandLine.Fleet = watch.Off, 50
	compiled, err := watchCompiler(t, Options{Watch: &ofCommandLine}).Compile(t.Context(), Host{Name: "web1"})
	require.NoError(t, err)
	play := ofCommandLine
	play.Mode, play.Poll, play.Files, play.Quiet, play.Budget = watch.Repair, 5*time.Minute, []string{"/run/off"}, []watch.Window{}, 9
	require.Equal(t, &play, compiled.WatchRules(len(compiled.Catalog.Entries)), "of an entry that the host has made")

	with := func(change func(*watch.Rules)) watch.Rules {
		r := play
		change(&r)
		return r
	}
	minute := func(r *watch.Rules) { r.Mode, r.Settle, r.Longest = watch.Report, time.Minute, time.Minute }
	want := map[string]watch.Rules{
		"exec#as the type":   with(func(r *watch.Rules) { r.Settle = 4 * time.Second }),
		"exec#off":           with(func(r *watch.Rules) { r.Mode = watch.Off }),
		"exec#of a variable": with(func(r *watch.Rules) { r.Poll, r.Settle = time.Hour, 0 }),
		"exec#no more":       play,
		"exec#inner":         with(func(r *watch.Rules) { minute(r); r.Budget = 1 }),
		"link#/inner":        with(minute),
		"block#site.yaml:11": with(minute),
		"link#/nested":       with(func(r *watch.Rules) { r.Poll = 0 }),
		"apply#nested.yaml":  with(func(r *watch.Rules) { r.Poll = 0 }),
	}
	for i, e := range compiled.Catalog.Entries {
		require.Equal(t, want[e.Ref()], *compiled.WatchRules(i), e.Ref())
		delete(want, e.Ref())
	}
	require.Empty(t, want)
}

// TestWatching reads what a host gets that watches a catalog.
func TestWatching(t *testing.T) {
	compiled, err := watchCompiler(t, Options{}).Compile(t.Context(), Host{Name: "web1"})
	require.NoError(t, err)
	compiled.Catalog.Lock, compiled.Catalog.Diff = &wire.Lock{Holder: "me"}, true
	w := compiled.Watching(3)
	require.True(t, w.NeedsFull)
	packet, err := w.Packet()
	require.NoError(t, err)
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packet)))
	require.NoError(t, err)
	var m wire.Message
	require.NoError(t, json.Unmarshal(text, &m))
	c := m.Catalog
	require.True(t, c.Check && c.Rehearsal)
	require.Nil(t, c.Lock)
	require.Equal(t, &wire.Watch{Play: 3, Settle: 2 * time.Second, Longest: time.Minute, Poll: 5 * time.Minute, Quiet: []string{"/run/off"}}, c.Watch)
	hour, never := time.Hour, time.Duration(0)
	want := map[string]*wire.EntryWatch{
		"exec#as the type":   {Settle: 4 * time.Second},
		"exec#off":           {Off: true},
		"exec#of a variable": {Poll: &hour, Settle: 1},
		"exec#inner":         {Settle: time.Minute},
		"link#/inner":        {Settle: time.Minute},
		"block#site.yaml:11": {Settle: time.Minute},
		"link#/nested":       {Poll: &never},
		"apply#nested.yaml":  {Poll: &never},
	}
	for _, e := range c.Entries {
		require.Equal(t, want[e.Ref()], e.Watch, e.Ref())
	}

	require.False(t, compiled.Catalog.Check, "the catalog itself is as it was")
	require.NotNil(t, compiled.Catalog.Lock)
	require.Nil(t, compiled.Catalog.Watch)
	for _, e := range compiled.Catalog.Entries {
		require.Nil(t, e.Watch)
	}
}

// TestRenderedWatch checks that watch settings are shown.
func TestRenderedWatch(t *testing.T) {
	rendered, err := watchCompiler(t, Options{}).Render(t.Context(), Host{Name: "web1"})
	require.NoError(t, err)
	text, err := rendered.YAML("", Shown{Explain: true})
	require.NoError(t, err)
	shown := strings.ReplaceAll(string(text), rendered.WatchAt.File, "site.yaml")
	for _, want := range []string{`
watch: # site.yaml:2:8
  mode: repair
  settle: 2s
  poll: 5m0s
  quiet:
    - file: /run/off
  repair:
    budget: 9
    per: 10m0s
    backoff:
      - 5s
      - 30s
      - 5m0s
    fleet: 2%
    only: certain
ccm:
`, `
        name: "off" # site.yaml:8:11
        watch: # site.yaml:8:24
          mode: "off"
        ensure: present # default
`, `
        name: inner # site.yaml:13:15
        watch: # site.yaml:13:30
          mode: report
          settle: 1m0s
          repair:
            budget: 1
        ensure: present # default
`} {
		require.Contains(t, shown, want)
	}
}

// TestWatchOfAHost checks that settings which are invalid only for one host are refused.
func TestWatchOfAHost(t *testing.T) {
	_, err := watchCompiler(t, Options{}).Compile(t.Context(), Host{Name: "web1", Vars: map[string]any{"night": "long"}})
	require.ErrorContains(t, err, `site.yaml:9:41: watch.poll: "long" is not a duration`)
}

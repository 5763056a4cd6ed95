package load

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// everyKeyOfWatch is a play with all keys of watch.
const everyKeyOfWatch = `watch:
  mode: repair
  settle: 1
  poll: 1h
  repair: {budget: 5, per: 1d, backoff: [1s, 2], fleet: 12.5%, only: all}
  ignore: [mode, owner]
  quiet: [Sat 02:00-04:00, {file: /run/maintenance}, 22:00-06:00]
  on_budget: report
`

// rulesOf are the rules of the first play of a manifest.
func rulesOf(t *testing.T, text string) watch.Rules {
	t.Helper()
	plays, err := parse(text)
	require.NoError(t, err)
	rules, err := plays[0].WatchRules(t.Context(), &templates.Env{Data: map[string]any{"n": 7}}, watch.Defaults())
	require.NoError(t, err)
	return rules
}

func TestEveryKeyOfWatch(t *testing.T) {
	saturday, err := watch.ParseWindow("Sat 02:00-04:00")
	require.NoError(t, err)
	night, err := watch.ParseWindow("22:00-06:00")
	require.NoError(t, err)
	require.Equal(t, watch.Rules{
		Mode: watch.Repair, Settle: time.Second, Longest: 30 * time.Second, Poll: time.Hour,
		Budget: 5, Per: 24 * time.Hour, Backoff: []time.Duration{time.Second, 2 * time.Second}, Fleet: 12.5, Fewest: 1,
		Ignore: []string{"mode", "owner"}, Quiet: []watch.Window{saturday, night}, Files: []string{"/run/maintenance"},
	}, rulesOf(t, everyKeyOfWatch+some))
}

func TestKeysOfWatch(t *testing.T) {
	for _, c := range []struct {
		watch string
		set   func(r *watch.Rules)
	}{
		{"", func(*watch.Rules) {}},
		{"report", func(*watch.Rules) {}},
		{"{}", func(*watch.Rules) {}},
		{"{mode: , settle: , poll: , repair: , ignore: , quiet: , on_budget: }", func(*watch.Rules) {}},
		{"repair", func(r *watch.Rules) { r.Mode = watch.Repair }},
		{"off", func(r *watch.Rules) { r.Mode = watch.Off }},
		{"{mode: off}", func(r *watch.Rules) { r.Mode = watch.Off }},
		{"{settle: 0, poll: 0}", func(r *watch.Rules) { r.Settle, r.Poll = 0, 0 }},
		{"{settle: 1m}", func(r *watch.Rules) { r.Settle, r.Longest = time.Minute, time.Minute }},
		{"{repair: {backoff: 1m}}", func(r *watch.Rules) { r.Backoff = []time.Duration{time.Minute} }},
		{"{repair: {backoff: []}}", func(r *watch.Rules) { r.Backoff = []time.Duration{} }},
		{"{repair: {only: certain, fleet: 100%}}", func(r *watch.Rules) { r.Fleet, r.Fewest = 100, 1 }},
		{"{repair: {burst: 3, limit: 0.005}}", func(r *watch.Rules) { r.Budget, r.Per = 3, 10*time.Minute }},
		{"{repair: {burst: 1, limit: 1, reset: true, retryreset: true}}", func(r *watch.Rules) { r.Budget, r.Per = 1, time.Second }},
		{`{repair: {budget: "{{ Data.n }}"}}`, func(r *watch.Rules) { r.Budget = 7 }},
		{`{repair: {per: "{{ Data.n }}m"}}`, func(r *watch.Rules) { r.Per = 7 * time.Minute }},
		{`{quiet: {file: /run/off}}`, func(r *watch.Rules) { r.Quiet, r.Files = []watch.Window{}, []string{"/run/off"} }},
	} {
		t.Run(c.watch, func(t *testing.T) {
			want := watch.Defaults()
			c.set(&want)
			require.Equal(t, want, rulesOf(t, "watch: "+c.watch+"\n"+some))
		})
	}
}

// TestWatchOfAnIncludedPlay checks that the including play's settings override the settings of the included play.
func TestWatchOfAnIncludedPlay(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"site.yaml":  "- include: inner.yaml\n  watch: {poll: 1m}\n",
		"inner.yaml": "watch: {mode: repair, poll: 2m}\n" + some,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	plays, err := Files(t.Context(), []string{filepath.Join(folder, "site.yaml")}, builtin.Types())
	require.NoError(t, err)
	rules, err := plays[0].WatchRules(t.Context(), &templates.Env{}, watch.Defaults())
	require.NoError(t, err)
	require.Equal(t, watch.Repair, rules.Mode)
	require.Equal(t, time.Minute, rules.Poll)
}

func TestIgnoreOfNoType(t *testing.T) {
	plays, err := parse("watch: {ignore: [mode, mood]}\n" + some)
	require.NoError(t, err)
	require.Equal(t, []string{`site.yaml:1:8: "watch.ignore" names the property "mood", which no type of this program has`}, manifest.Warnings(plays))
}

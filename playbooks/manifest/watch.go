package manifest

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// WatchRules returns the play's watch rules for one host: its settings override the default rules.
func (p *Play) WatchRules(ctx context.Context, env *templates.Env, rules watch.Rules) (watch.Rules, error) {
	var errs yamlpos.Errors
	for _, v := range p.Watch {
		n, err := v.Resolve(ctx, env)
		if errs.Add(err); err == nil {
			errs.Add(ReadWatch(n, &rules, true, nil))
		}
	}
	return rules, errs.Err()
}

// ReadWatch applies the settings of a watch, a word or a map of keys, to rules. Missing settings do not change rules.
// open reports scalars that are not known yet; if it is nil, all are known. Only the watch of a play may name files,
// because it is for whole hosts.
func ReadWatch(n *yamlpos.Node, rules *watch.Rules, ofPlay bool, open func(*yamlpos.Node) bool) error {
	if open == nil {
		open = func(*yamlpos.Node) bool { return false }
	}
	r := &watchReader{rules: rules, open: open, ofPlay: ofPlay}
	switch n = keys.Given(n); {
	case n == nil || n.Kind == yamlpos.Scalar && open(n):
	case n.Kind == yamlpos.Scalar:
		r.mode(n)
	default:
		r.whole(n)
	}
	return r.errs.Err()
}

// A watchReader reads one watch.
type watchReader struct {
	rules  *watch.Rules
	open   func(*yamlpos.Node) bool
	ofPlay bool
	errs   yamlpos.Errors
}

func (r *watchReader) wrong(n *yamlpos.Node, hint, format string, args ...any) {
	r.errs.Add(n.Errorf(hint, format, args...))
}

// given is a value of a map, if it is known and not null; else nil.
func (r *watchReader) given(of *yamlpos.Node, key string) *yamlpos.Node {
	n := keys.Given(of.Get(key))
	if n == nil || n.Kind == yamlpos.Scalar && r.open(n) {
		return nil
	}
	return n
}

// whole reads a map of keys.
func (r *watchReader) whole(n *yamlpos.Node) {
	n = r.hinted(n, misplacedInWatch)
	var k struct {
		Watch keys.Watch `json:"watch" hint:"write watch: repair, or keys such as watch: {mode: repair}"`
	}
	decoded := *n
	if repair := keys.Given(n.Get("repair")); repair != nil && repair.Kind == yamlpos.Map {
		decoded.Pairs = slices.Clone(n.Pairs)
		for i, pair := range decoded.Pairs {
			if pair.Key.Text == "repair" {
				decoded.Pairs[i].Value = r.hinted(repair, misplacedInRepair)
			}
		}
	}
	n = &decoded
	r.errs.Add(yamlpos.Decode(yamlpos.Under("watch", n), &k, yamlpos.Open(r.open)))
	if n.Kind != yamlpos.Map {
		return
	}
	if mode := r.given(n, "mode"); mode != nil {
		r.mode(mode)
	}
	r.duration(n, "settle", "2s", 0, 5*time.Minute, &r.rules.Settle)
	r.rules.Longest = max(watch.Defaults().Longest, r.rules.Settle)
	if poll := r.given(n, "poll"); poll != nil && k.Watch.Poll == 0 {
		r.rules.Poll = 0 // never; a value that is not a time has been reported
	} else {
		r.duration(n, "poll", "10m", time.Second, longest, &r.rules.Poll)
	}
	if repair := n.Get("repair"); keys.Given(repair) != nil && repair.Kind == yamlpos.Map {
		r.repair(repair, &k.Watch.Repair)
	}
	if ignore := r.given(n, "ignore"); ignore != nil && ignore.Kind == yamlpos.List {
		r.rules.Ignore = k.Watch.Ignore
	}
	if quiet := r.given(n, "quiet"); quiet != nil {
		r.quiet(quiet)
	}
	r.word(n, "on_budget", "report")
}

// longest is the longest time of [keys.Seconds].
const longest = 30 * 24 * time.Hour

// mode reads how drift is handled.
func (r *watchReader) mode(n *yamlpos.Node) {
	modes := []watch.Mode{watch.Report, watch.Repair, watch.Off}
	mode := watch.Mode(n.Text)
	if n.Kind != yamlpos.Scalar || !slices.Contains(modes, mode) {
		r.wrong(n, "write report, repair or off", `"watch" cannot be %s`, n.Describe())
		return
	}
	r.rules.Mode = mode
}

// duration reads a time within bounds. A value that is not a time has been reported.
func (r *watchReader) duration(of *yamlpos.Node, key, example string, least, most time.Duration, into *time.Duration) {
	n := r.given(of, key)
	var d keys.Seconds
	if n == nil || yamlpos.Decode(n, &d) != nil {
		return
	}
	if time.Duration(d) < least || time.Duration(d) > most {
		r.wrong(n, "write a duration such as "+key+": "+example, "%[1]q must be from %[3]s to %[4]s, not %[2]s", key, n.Text, shortDuration(least), shortDuration(most))
		return
	}
	*into = time.Duration(d)
}

// shortDuration is a bound as it may be written.
func shortDuration(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	case d >= time.Minute:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return d.String()
}

// word reads one of a few words; "" if it is not given, or wrong.
func (r *watchReader) word(of *yamlpos.Node, key string, known ...string) string {
	n := r.given(of, key)
	switch {
	case n == nil || n.Kind != yamlpos.Scalar: // which has been reported
		return ""
	case !slices.Contains(known, n.Text):
		r.wrong(n, "write "+strings.Join(known, " or "), "%q cannot be %q", key, n.Text)
		return ""
	}
	return n.Text
}

func (r *watchReader) repair(n *yamlpos.Node, k *keys.Repair) {
	if budget := r.given(n, "budget"); budget != nil {
		r.count(budget, "budget", k.Budget)
	}
	r.duration(n, "per", "10m", time.Second, longest, &r.rules.Per)
	r.tokens(n, k)
	for key, always := range map[string]*bool{"reset": k.Reset, "retryreset": k.RetryReset} {
		if at := r.given(n, key); at != nil && always != nil && !*always {
			r.wrong(at, "remove it", "%q cannot be false: %s", key, alwaysReset[key])
		}
	}
	if backoff := r.given(n, "backoff"); backoff != nil {
		r.backoff(backoff)
	}
	if fleet := r.given(n, "fleet"); fleet != nil && fleet.Kind == yamlpos.Scalar {
		r.fleet(fleet)
	}
	if only := r.word(n, "only", "certain", "all"); only != "" {
		r.rules.OnlyCertain = only == "certain"
	}
}

// alwaysReset is why counters cannot stay.
var alwaysReset = map[string]string{
	"reset":      "a new manifest resets all counters",
	"retryreset": `"backoff" restarts when a resource is in its desired state`,
}

// count reads the maximum number of repairs. A value that is not a number has been reported.
func (r *watchReader) count(n *yamlpos.Node, key string, count int) {
	switch _, whole := n.Value.(int64); {
	case !whole:
	case count < 1 || count > keys.MaxBudget:
		r.wrong(n, "to disable repairs, write watch: report", "%[1]q must be from 1 to %[3]d, not %[2]d", key, count, keys.MaxBudget)
	default:
		r.rules.Budget = count
	}
}

// tokens reads mgmt's token bucket: burst repairs at once, and limit a second in the long run.
func (r *watchReader) tokens(n *yamlpos.Node, k *keys.Repair) {
	burst, limit := keys.Given(n.Get("burst")), keys.Given(n.Get("limit"))
	if burst == nil && limit == nil {
		return
	}
	for _, other := range []string{"budget", "per"} {
		if at := keys.Given(n.Get(other)); at != nil {
			r.wrong(at, `keep "budget" and "per", or "burst" and "limit"`, "%q cannot be used together with the mgmt keys that replace it", other)
			return
		}
	}
	const hint = "write both, or budget: 3 and per: 10m, which is burst: 3 and limit: 0.005"
	switch {
	case burst == nil:
		r.wrong(limit, hint, `"limit" has no meaning without "burst": it would allow nothing`)
		return
	case limit == nil:
		r.wrong(burst, hint, `"burst" has no meaning without "limit": it would allow everything`)
		return
	case r.open(burst) || r.open(limit):
		return
	}
	switch limit.Value.(type) {
	case int64, float64:
	default:
		return // which has been reported
	}
	per := time.Duration(0)
	if least := float64(k.Burst) / longest.Seconds(); k.Limit >= least && k.Limit > 0 {
		per = time.Duration(float64(k.Burst) / k.Limit * float64(time.Second)).Round(time.Millisecond)
	}
	if k.Burst > 0 && per < time.Second {
		r.wrong(limit, "write repairs per second, such as 0.005", `"burst" %d / "limit" %s is a time outside 1s-30d`, k.Burst, limit.Text)
		return
	}
	r.count(burst, "burst", k.Burst)
	r.rules.Per = per
}

// backoff reads one wait, or a list of them.
func (r *watchReader) backoff(n *yamlpos.Node) {
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		items = n.Items
	}
	if len(items) > keys.MaxBackoffs {
		r.wrong(n, "", `"backoff" has more than %d waits`, keys.MaxBackoffs)
		return
	}
	all := []time.Duration{}
	for _, item := range items {
		var d keys.Seconds
		switch {
		case item.Kind == yamlpos.Scalar && r.open(item):
		case item.Kind != yamlpos.Scalar || d.UnmarshalText([]byte(item.Text)) != nil:
			r.wrong(item, "write a duration, or a list of them: backoff: [5s, 30s, 5m]", `"backoff" cannot be %s`, item.Describe())
		}
		all = append(all, time.Duration(d))
	}
	r.rules.Backoff = all
}

// fleet reads a share of the hosts.
func (r *watchReader) fleet(n *yamlpos.Node) {
	share, isShare := strings.CutSuffix(n.Text, "%")
	percent, err := strconv.ParseFloat(share, 64)
	if !isShare || err != nil || !(percent > 0 && percent <= 100) { // so that NaN is refused too
		r.wrong(n, "write a percentage up to 100%: fleet: 2%. At least one host is repaired", `"fleet" cannot be %s`, n.Describe())
		return
	}
	r.rules.Fleet, r.rules.Fewest = percent, 1
}

// quiet reads one time, or a list of them.
func (r *watchReader) quiet(n *yamlpos.Node) {
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		items = n.Items
	}
	windows, files := []watch.Window{}, []string(nil)
	for _, item := range items {
		switch {
		case item.Kind == yamlpos.Scalar && r.open(item):
		case item.Kind == yamlpos.Map:
			if file := r.quietFile(item); file != "" {
				files = append(files, file)
			}
		default:
			window, err := watch.ParseWindow(item.Text)
			if err != nil || item.Kind != yamlpos.Scalar {
				r.wrong(item, `write "Sat 02:00-04:00", "Mon-Fri 22:00-06:00", "02:00-04:00" or {file: /run/maintenance}`, `"quiet" cannot be %s`, item.Describe())
			}
			windows = append(windows, window)
		}
	}
	r.rules.Quiet = windows
	if r.ofPlay {
		r.rules.Files = files
	}
}

// quietFile reads {file: PATH}; "" if it is wrong, or not known.
func (r *watchReader) quietFile(n *yamlpos.Node) string {
	var k struct {
		File string `json:"file"`
	}
	err := yamlpos.Decode(n, &k, yamlpos.Open(r.open))
	r.errs.Add(err)
	file := r.given(n, "file")
	switch {
	case err != nil:
	case !r.ofPlay:
		r.wrong(n, "write it at the play", "a quiet file applies to the whole host, not to one resource")
	case n.Get("file") == nil || keys.Given(n.Get("file")) == nil:
		r.wrong(n, "write {file: /run/maintenance}", "no file is named")
	case file == nil:
	case !path.IsAbs(k.File) || path.Clean(k.File) != k.File:
		r.wrong(file, "write it as /run/maintenance", "%q is not an absolute path without . and ..", k.File)
	default:
		return k.File
	}
	return ""
}

// hinted reports keys of a map that are in the wrong place, or are other tools' words, and returns the map without
// them.
func (r *watchReader) hinted(n *yamlpos.Node, hints map[string]string) *yamlpos.Node {
	rest := *n
	rest.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(pair yamlpos.Pair) bool {
		key := pair.Key.Text
		hint, foreign := hints[key]
		switch {
		case foreign:
			r.wrong(pair.Key, hint, `"watch" has no key %q here`, key)
		case key == "poll" && pair.Value.Kind == yamlpos.Scalar && pair.Value.Text == "-1":
			foreign = true
			r.wrong(pair.Value, "to check once, run ccm-push watch --once; to check only after events, write poll: 0", `"poll" cannot be -1`)
		}
		return foreign
	})
	return &rest
}

const (
	belowRepair  = "write it below repair: watch: {repair: {...}}"
	besideRepair = "write it on the same level as repair: watch: {...}"
	besideWatch  = `write it at the resources, on the same level as "watch"`
)

// misplacedInWatch and misplacedInRepair map keys that belong elsewhere or have no meaning here, including mgmt's, to
// hints about what to write instead.
var (
	misplacedInWatch = map[string]string{
		"budget": belowRepair, "per": belowRepair, "backoff": belowRepair, "fleet": belowRepair, "only": belowRepair,
		"burst": belowRepair, "limit": belowRepair, "reset": belowRepair, "retryreset": belowRepair,
		"retry": besideWatch, "delay": besideWatch, "timeout": besideWatch, "noop": besideWatch, "sema": besideWatch,
		"rewatch": "remove it: if an event source is lost, ccm-push polls and reconnects automatically",
		"realize": "remove it: a new manifest takes effect when it is read",
	}
	misplacedInRepair = map[string]string{
		"mode": besideRepair, "settle": besideRepair, "poll": besideRepair, "ignore": besideRepair, "quiet": besideRepair, "on_budget": besideRepair,
		"retry": besideWatch, "delay": besideWatch, "timeout": besideWatch, "noop": besideWatch, "sema": besideWatch,
	}
)

//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// situations are the states of a host in which a manifest is checked and run, in this order: a new host; the same host
// again; after the commands of the file drifts; and with the changes of v2.patch.
var situations = []string{"fresh", "again", "drifts", "v2"}

// TestFleetForecasts measures how many predictions of check runs are certain, and which are right. Each manifest of
// testdata/forecasts is checked and run on a new host with systemd and the real Debian archive. The test fails if a
// certain prediction is wrong. CCM_FORECASTS is the list of manifests, such as 01,03, or all. The folder FORECASTS_OUT
// keeps the results. A manifest with results in this folder does not run again.
func TestFleetForecasts(t *testing.T) {
	chosen := os.Getenv("CCM_FORECASTS")
	if chosen == "" {
		t.Skip(needs.Prefix + "real manifests with the Debian archive; run: make forecasts")
	}
	folders, err := filepath.Glob("testdata/forecasts/[0-9]*")
	require.NoError(t, err)
	folders = slices.DeleteFunc(folders, func(folder string) bool {
		number, _, _ := strings.Cut(filepath.Base(folder), "-")
		return chosen != "all" && !slices.Contains(strings.Split(chosen, ","), number)
	})
	require.NotEmpty(t, folders, "no manifest in testdata/forecasts has a number of the list %s", chosen)
	out := cmp.Or(os.Getenv("FORECASTS_OUT"), t.TempDir())
	var mu sync.Mutex
	all := map[string]*forecasts{}
	site := t.TempDir()
	makeForecastsSite(t, site)
	archive := startDebian(t, site)
	t.Run("manifests", func(t *testing.T) {
		for _, folder := range folders {
			name := filepath.Base(folder)
			t.Run(name, func(t *testing.T) {
				results := filepath.Join(out, name+".jsonl")
				c, ok := earlierForecasts(t, results)
				if !ok {
					c = runForecasts(t, archive, folder)
					c.keep(t, results)
				}
				mu.Lock()
				defer mu.Unlock()
				all[name] = c
			})
		}
	})
	table := forecastTable(all)
	t.Logf("\n%s", table)
	reportWrong(t, all)
}

// reportWrong prints wrong predictions that are not unknown. The test fails if a certain one is wrong.
func reportWrong(t *testing.T, all map[string]*forecasts) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, f := range all[name].Predictions {
			if f.Grade != "unknown" && len(f.Differs) > 0 {
				text := fmt.Sprintf("%s %s: %s is %s, and wrong in %s\npredicted %s\n     real %s", name, f.Situation, f.Resource, f.Grade, strings.Join(f.Differs, ", "), f.Predicted, f.Real)
				if f.Grade == "certain" {
					t.Error(text)
				} else {
					t.Log(text)
				}
			}
		}
	}
}

// forecasts are the results of a manifest.
type forecasts struct {
	Predictions []prediction
	Runs        []forecastRun
}

// A prediction compares the result of a resource in a check run with the result in the run that follows.
type prediction struct {
	Manifest, Situation, Resource, Grade, Because string
	Differs                                       []string // fields of the results; empty means right
	Predicted, Real                               json.RawMessage
}

// A forecastRun is a check run and the run that follows.
type forecastRun struct {
	Manifest, Situation  string
	CheckTime, RunTime   time.Duration
	Checked, Ran, Excess int64 // bytes from the archive; Excess would not have been fetched without the check run
}

// lines returns the results as JSON lines.
func (c *forecasts) lines(t *testing.T) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, p := range c.Predictions {
		require.NoError(t, encoder.Encode(p))
	}
	for _, r := range c.Runs {
		require.NoError(t, encoder.Encode(r))
	}
	return text.String()
}

// keep writes the results to a file.
func (c *forecasts) keep(t *testing.T, file string) {
	write(t, file+".new", c.lines(t))
	require.NoError(t, os.Rename(file+".new", file))
}

// earlierForecasts reads the results of an earlier test.
func earlierForecasts(t *testing.T, file string) (c *forecasts, ok bool) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false
	}
	require.NoError(t, err)
	c = &forecasts{}
	for line := range strings.Lines(string(text)) {
		var p prediction
		require.NoError(t, json.Unmarshal([]byte(line), &p), file)
		if p.Resource != "" {
			c.Predictions = append(c.Predictions, p)
			continue
		}
		var r forecastRun
		require.NoError(t, json.Unmarshal([]byte(line), &r), file)
		c.Runs = append(c.Runs, r)
	}
	return c, true
}

// startForecastsHost starts a new host with systemd that installs packages from the archive.
func startForecastsHost(t *testing.T, archive *debian) *fleet {
	f := leaseFleet(t)
	if f.tool("status") != "" {
		f.tool("down")
	}
	f.tool("up", "1", "--systemd")
	t.Cleanup(func() { f.tool("down") })
	f.awaits(forecastsHost, "systemctl is-active multi-user.target")
	archive.serve(f, forecastsHost)
	write(t, f.path("hosts.yaml"), f.tool("inventory"))
	return f
}

const forecastsHost = "s001"

// runForecasts checks and runs a manifest in each situation, on a new host.
func runForecasts(t *testing.T, archive *debian, folder string) *forecasts {
	f := startForecastsHost(t, archive)
	require.NoError(t, os.CopyFS(f.path("site"), os.DirFS(folder)))
	c := &forecasts{}
	for _, situation := range situations {
		switch situation {
		case "drifts":
			drifts, err := os.ReadFile(filepath.Join(folder, "drifts"))
			require.NoError(t, err)
			for line := range strings.Lines(string(drifts)) {
				f.sh(forecastsHost, "set -e; "+line)
			}
		case "v2":
			patch := exec.Command("patch", "--quiet", "--strip=1", "--input=v2.patch")
			patch.Dir = f.path("site")
			outputOf(t, patch)
		}
		c.measure(f, archive, "site/site.yaml", filepath.Base(folder), situation)
	}
	return c
}

// measure checks and runs a file of a manifest, and compares the results.
func (c *forecasts) measure(f *fleet, archive *debian, file, manifest, situation string) {
	f.Helper()
	run := forecastRun{Manifest: manifest, Situation: situation}
	results := func(took *time.Duration, flags ...string) ([]foretoldResult, map[string]int64) {
		archive.took(f.address("1.11"))
		began := time.Now()
		r := f.push(append([]string{"-i", "hosts.yaml", "--diff", "--output", "json"}, append(flags, file)...)...)
		*took = time.Since(began)
		all := r.foretold(f)
		require.NotEmpty(f, all, "%s\n%s", r.stdout, r.stderr)
		return all, archive.took(f.address("1.11"))
	}
	predicted, checked := results(&run.CheckTime, "--check")
	real, ran := results(&run.RunTime)
	for name, n := range checked {
		run.Checked += n
		if strings.HasSuffix(name, ".deb") && f.holds(forecastsHost, "grep -q '^Package: "+packagePattern(name)+"$' /var/lib/dpkg/status") {
			n = max(0, n+ran[name]-archive.size(name))
			require.LessOrEqual(f, n, int64(1), "the run has not continued the download of %s", name) // apt requests the last byte of a whole file again
		}
		run.Excess += n
	}
	for _, n := range ran {
		run.Ran += n
	}
	c.Runs = append(c.Runs, run)
	c.compare(manifest, situation, predicted, real)
}

// packagePattern returns the name of the package in the path of a file of it, for grep.
func packagePattern(file string) string {
	name, _, _ := strings.Cut(path.Base(file), "_")
	return strings.ReplaceAll(name, ".", `\.`)
}

// A foretoldResult is a result of a check run or a run.
type foretoldResult struct {
	Event, Type, Name, Status, Because, Grade string
	Certain, Refreshed                        bool
	Changes                                   []modules.Change
	Diff                                      json.RawMessage // a text; in other events it has another meaning
	RefreshedBy                               []string        `json:"refreshed_by"`
	raw                                       json.RawMessage
}

// foretold returns the results of resources in the JSON output of a run.
func (r run) foretold(t testing.TB) (all []foretoldResult) {
	for line := range strings.Lines(r.stdout) {
		result := foretoldResult{raw: json.RawMessage(strings.TrimSpace(line))}
		require.NoError(t, json.Unmarshal(result.raw, &result), "%q", line)
		if result.Event == "result" {
			all = append(all, result)
		}
	}
	return all
}

// compare adds the predictions of a check run. Resources of one name are compared in their order.
func (c *forecasts) compare(manifest, situation string, predicted, real []foretoldResult) {
	for _, p := range predicted {
		f := prediction{Manifest: manifest, Situation: situation, Resource: p.Type + "#" + p.Name, Because: p.Because, Predicted: p.raw}
		switch {
		case p.Grade != "":
			f.Grade = p.Grade
		case p.Certain:
			f.Grade = "certain"
		default:
			f.Grade = "unknown"
		}
		at := slices.IndexFunc(real, func(r foretoldResult) bool { return r.Type == p.Type && r.Name == p.Name })
		if at < 0 {
			f.Differs = []string{"result"} // the run has none
			c.Predictions = append(c.Predictions, f)
			continue
		}
		r := real[at]
		real = slices.Delete(slices.Clone(real), at, at+1)
		f.Real = r.raw
		for _, field := range []struct {
			name  string
			equal bool
		}{
			{"status", p.Status == r.Status},
			{"changes", len(p.Changes)+len(r.Changes) == 0 || reflect.DeepEqual(p.Changes, r.Changes)},
			{"diff", bytes.Equal(p.Diff, r.Diff)},
			{"refreshed", p.Refreshed == r.Refreshed},
			{"refreshed_by", slices.Equal(p.RefreshedBy, r.RefreshedBy)},
		} {
			if !field.equal {
				f.Differs = append(f.Differs, field.name)
			}
		}
		c.Predictions = append(c.Predictions, f)
	}
}

// A gradeCount counts predictions by grade, and right ones.
type gradeCount struct {
	all, right map[string]int
	because    map[string]int // uncertain ones, by the type of the resource that makes them so
	excess     int64
}

func (n *gradeCount) add(p prediction) {
	if n.all == nil {
		n.all, n.right, n.because = map[string]int{}, map[string]int{}, map[string]int{}
	}
	n.all[p.Grade]++
	if len(p.Differs) == 0 {
		n.right[p.Grade]++
	}
	if p.Grade != "certain" {
		typ, _, _ := strings.Cut(p.Because, "#")
		if p.Because == p.Resource {
			typ += " itself"
		}
		n.because[typ]++
	}
}

// row prints the counts as a row of the table.
func (n *gradeCount) row(manifest, situation string) string {
	total := 0
	for _, count := range n.all {
		total += count
	}
	share := func(grade string) string {
		return fmt.Sprintf("%4d %5.1f%% %3d wrong", n.all[grade], 100*float64(n.all[grade])/float64(max(total, 1)), n.all[grade]-n.right[grade])
	}
	return fmt.Sprintf("%-16s %-6s | %s | %s | %4d (%d right) | %4d | %6d | %s\n", manifest, situation, share("certain"), share("likely"),
		n.all["unknown"], n.right["unknown"], total, n.excess, mostFirst(n.because))
}

// mostFirst prints numbers by name, the highest first.
func mostFirst(counts map[string]int) string {
	var all []string
	for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	}) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}

// firstCauses counts uncertain predictions of a situation by the type of the first resource of the chain that makes them
// uncertain. A change of this resource may be certain: then it is the first that later resources may depend on.
func firstCauses(all map[string]*forecasts, situation string) map[string]int {
	counts := map[string]int{}
	for _, c := range all {
		byName := map[string]prediction{}
		for _, p := range c.Predictions {
			if p.Situation == situation {
				byName[p.Resource] = p
			}
		}
		for _, p := range byName {
			if p.Grade == "certain" {
				continue
			}
			first, seen := p, map[string]bool{}
			for next, ok := byName[first.Because]; ok && !seen[first.Resource]; next, ok = byName[first.Because] {
				seen[first.Resource] = true
				first = next
			}
			typ, _, _ := strings.Cut(first.Resource, "#")
			if first.Grade == "certain" {
				typ += " (certain itself)"
			}
			counts[typ]++
		}
	}
	return counts
}

// forecastTable prints the counts by manifest and situation, and their sums.
func forecastTable(all map[string]*forecasts) string {
	text := "manifest         when   | certain               | likely                | unknown         |  all | excess bytes of the check | uncertain because of\n"
	sums, sum := map[string]*gradeCount{}, &gradeCount{}
	for _, situation := range situations {
		sums[situation] = &gradeCount{}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for i, situation := range situations {
			var n gradeCount
			for _, p := range all[name].Predictions {
				if p.Situation == situation {
					n.add(p)
					sums[situation].add(p)
					sum.add(p)
				}
			}
			if i < len(all[name].Runs) {
				n.excess = all[name].Runs[i].Excess
				sums[situation].excess += n.excess
				sum.excess += n.excess
			}
			text += n.row(name, situation)
		}
	}
	for _, situation := range situations {
		text += sums[situation].row("all", situation)
	}
	text += sum.row("all", "all")
	for _, situation := range situations {
		text += fmt.Sprintf("first causes, %s: %s\n", situation, mostFirst(firstCauses(all, situation)))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, p := range all[name].Predictions {
			var real foretoldResult
			json.Unmarshal(p.Real, &real)
			if real.Status == "failed" || p.Situation == "again" && real.Status == "changed" {
				text += fmt.Sprintf("%s %s: the run of %s has %s\n", name, p.Situation, p.Resource, real.Status)
			}
		}
	}
	return text
}

// makeForecastsSite makes the files that manifests download: releases of an application, and a repository of git.
func makeForecastsSite(t *testing.T, site string) {
	for _, version := range []string{"1.4.0", "1.5.0"} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, file := range []struct{ name, text string }{
			{"bin/orders", "#!/bin/sh\necho orders " + version + " listens on \"$ORDERS_PORT\"\nexec sleep infinity\n"},
			{"bin/migrate", "#!/bin/sh\necho " + version + " >\"$1/schema\"\n"},
			{"VERSION", version + "\n"},
		} {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: "orders-" + version + "/" + file.name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(file.text)), ModTime: time.Unix(1700000000, 0)}))
			_, err := w.Write([]byte(file.text))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		write(t, filepath.Join(site, "orders-"+version+".tar"), archive.String())
	}
	needs.Program(t, "git", "patch")
	cmd := exec.Command("sh", "-ec", `git init -q -b main work; cd work
for version in 1 2; do
	printf 'limits:\n  orders: %s000\n' $version >limits.yaml
	git add limits.yaml; git commit -q -m "limits $version"; git tag v$version
done
cd ..; git clone -q --bare work settings.git; git -C settings.git update-server-info`)
	cmd.Dir = site
	cmd.Env = append(os.Environ(), "HOME="+site, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=ops", "GIT_AUTHOR_EMAIL=ops@example.net", "GIT_COMMITTER_NAME=ops", "GIT_COMMITTER_EMAIL=ops@example.net",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	outputOf(t, cmd)
}

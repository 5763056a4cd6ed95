//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	fidelityCI   = 60               // seeds of a commit
	fidelityTime = 80 * time.Second // after which no further seed of a commit begins
)

// TestFleetFidelity checks and runs random manifests on a host with systemd: no certain prediction is wrong.
// CCM_FIDELITY=FROM-TO or a list chooses the seeds; without it the commit chooses them, and the cases of
// testdata/fidelity, which failed before, run first. CCM_FIDELITY_STATE is a folder with the seeds that passed, and the
// output of the others.
func TestFleetFidelity(t *testing.T) {
	f := startFidelity(t)
	var s outcomeSeeds
	chosen := os.Getenv("CCM_FIDELITY")
	if chosen == "" {
		s.seeds, s.until = seedsOfCommit(t, fidelityCI), time.Now().Add(fidelityTime)
		kept, err := filepath.Glob("testdata/fidelity/*.yaml")
		require.NoError(t, err)
		for _, path := range kept {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if found := f.compare(t, string(text), true); len(found) > 0 {
				t.Errorf("%s\n%s%s", path, text, strings.Join(found, "\n"))
			}
		}
	} else {
		s.seeds = seedsIn(t, chosen)
		if s.folder = os.Getenv("CCM_FIDELITY_STATE"); s.folder != "" {
			s.remember(t, s.folder)
		}
	}
	for _, earlier := range s.earlier {
		var n tally
		if _, err := fmt.Sscan(earlier, &n.certain, &n.all); err == nil {
			f.manifests++
			f.sum.add(n)
		}
	}
	for _, seed := range s.seeds {
		if !s.until.IsZero() && time.Now().After(s.until) {
			t.Logf("NOT TESTED: %s are over", fidelityTime)
			break
		}
		c, before := drawFidelity(seed), f.sum
		found := f.compare(t, c.text(), true)
		if len(found) == 0 {
			if s.passed != nil {
				fmt.Fprintln(s.passed, seed, f.sum.certain-before.certain, f.sum.all-before.all)
			}
			continue
		}
		report := fmt.Sprintf("seed %d\n%s%s", seed, c.text(), strings.Join(found, "\n"))
		t.Logf("WRONG: %s", report) // at once: to make it smaller takes time
		if s.folder != "" {
			write(t, filepath.Join(s.folder, fmt.Sprintf("failed-%d", seed)), report)
		}
		if chosen != "" {
			c, found = f.shrink(t, c, found)
			report = fmt.Sprintf("seed %d; as small as it got, to be kept as testdata/fidelity/NAME.yaml:\n%s%s", seed, c.text(), strings.Join(found, "\n"))
			if s.folder != "" {
				write(t, filepath.Join(s.folder, fmt.Sprintf("failed-%d", seed)), report)
			}
		}
		t.Error(report)
	}
	for _, typ := range slices.Sorted(maps.Keys(f.types)) {
		t.Logf("%-14s %5d of %5d predictions were certain", typ, f.types[typ].certain, f.types[typ].all)
	}
	t.Logf("%d manifests; %d predictions: %d certain, %d maybe; certain and wrong: %d", f.manifests, f.sum.all, f.sum.certain, f.sum.all-f.sum.certain, f.wrong)
}

// A fidelity is a host on which manifests are checked and run, with the predictions there.
type fidelity struct {
	*fleet
	clean     string // state of the host before each case
	manifests int
	sum       tally
	types     map[string]tally
	wrong     int
}

// A tally counts predictions.
type tally struct{ certain, all int }

func (n *tally) add(more tally) { n.certain, n.all = n.certain+more.certain, n.all+more.all }

// startFidelity has a host with systemd, a repository of small packages and the locales of this machine.
func startFidelity(t *testing.T) *fidelity {
	hosts := startServiceHost(t)
	aptOn(hosts, "s001")
	hosts.sh("s001", aptWeb)
	if _, err := os.Stat("/usr/sbin/locale-gen"); err == nil {
		pipe := `tar -C / -cf - usr/share/i18n usr/sbin/locale-gen | fleet/fleet exec s001 tar -C / -xf -`
		cmd := hosts.command()
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", pipe}
		outputOf(t, cmd)
		t.Cleanup(func() { hosts.sh("s001", "rm -rf /usr/share/i18n /usr/sbin/locale-gen") })
	} else {
		t.Log("NOT TESTED: locales that are generated; this machine has no package locales")
	}
	f := &fidelity{fleet: hosts, types: map[string]tally{}}
	f.sh("s001", resetFidelity)
	f.clean = f.sh("s001", resetFidelity)
	t.Cleanup(func() {
		f.sh("s001", resetFidelity+"rm -rf /srv/fid /usr/local/lib/systemd/system/fid-*; systemctl daemon-reload")
	})
	return f
}

var fidelityBefore = regexp.MustCompile(`(?m)^# before: (.*)$`)

// compare checks and runs a case, and returns the predictions that were certain and wrong.
func (f *fidelity) compare(t *testing.T, text string, count bool) (wrong []string) {
	script := resetFidelity
	for _, m := range fidelityBefore.FindAllStringSubmatch(text, -1) {
		script += m[1] + "\n"
	}
	clean, err := f.command("exec", "s001", "sh", "-c", script+"true").Output()
	require.NoError(t, err)
	require.Empty(t, differing(f.clean, string(clean)), "the host is not as it was before the first case; resetFidelity must know what the last case changed")
	write(t, f.path("fidelity.yaml"), text)
	results := func(flags ...string) (all []foretold) {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "s001", "--diff", "--output", "json"}, append(flags, "fidelity.yaml")...)...)
		for line := range strings.Lines(r.stdout) {
			var result foretold
			require.NoError(t, json.Unmarshal([]byte(line), &result), "%q", line)
			if result.Event == "result" {
				all = append(all, result)
			}
		}
		require.NotEmpty(t, all, "%s\n%s\n%s", text, r.stdout, r.stderr)
		return all
	}
	predicted, real := results("--check"), results()
	require.Len(t, real, len(predicted), text)
	for i, p := range predicted {
		n := tally{all: 1}
		if p.Certain {
			n.certain = 1
		}
		if count {
			typ := f.types[p.Type]
			typ.add(n)
			f.types[p.Type] = typ
			f.sum.add(n)
		}
		if p, r := p.essence()+string(p.Diff), real[i].essence()+string(real[i].Diff); n.certain == 1 && p != r {
			wrong = append(wrong, fmt.Sprintf("predicted %s\n     real %s %s", p, r, real[i].Error))
		}
	}
	if count {
		f.manifests++
		f.wrong += len(wrong)
	}
	return wrong
}

// shrink leaves commands and resources out of a case as long as a prediction is certain and wrong.
func (f *fidelity) shrink(t *testing.T, c fidelityCase, wrong []string) (fidelityCase, []string) {
	for n := len(c.before) + len(c.resources) - 1; n >= 0; n-- {
		smaller, is := c.without(n)
		if !is {
			continue
		}
		if found := f.compare(t, smaller.text(), false); len(found) > 0 {
			c, wrong = smaller, found
		}
	}
	return c, wrong
}

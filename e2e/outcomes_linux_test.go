//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
	"github.com/ccm-push/ccm-push/e2e/needs"
	cases "github.com/ccm-push/ccm-push/e2e/outcomes"
)

const (
	outcomeLanes   = 8                // cases at once: they mostly wait
	outcomeCI      = 20               // seeds of a commit
	outcomeTime    = 90 * time.Second // after which no further seed of a commit begins
	shrinkAttempts = 25               // for each seed that failed
)

// TestOutcomes runs random plays under random faults on cheap hosts, and compares what all runs reported with what
// happened. CCM_OUTCOMES=FROM-TO chooses the seeds; without it they are 20 that the commit chooses, and the cases of
// testdata/outcomes. CCM_OUTCOMES_STATE is a folder that keeps which seeds passed, and what was printed of others.
// CCM_OUTCOMES_SHRINK=no does not make failing cases smaller.
func TestOutcomes(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		needs.Skip(t, "hosts need Linux and root")
	}
	moduleDir(t) // built before time counts
	dir, err := os.MkdirTemp("", "outcomes-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	lanes := make(chan *cases.Drive, outcomeLanes)
	for n := range outcomeLanes {
		folder := filepath.Join(dir, fmt.Sprint(n))
		require.NoError(t, os.Mkdir(folder, 0o700))
		cells, err := cases.NewCells(folder, 4)
		require.NoError(t, err)
		t.Cleanup(cells.Close)
		lanes <- &cases.Drive{Hosts: cells.Hosts, Controller: cells.Controller, Inventory: cells.Inventory, Push: func(dir string, args ...string) *exec.Cmd {
			push := pushCommand(t, dir, args...)
			cmd := cells.Enter(dir, push.Path, push.Args[1:]...)
			cmd.Env = push.Env
			return cmd
		}}
	}
	newOutcomes(t).run(t, lanes)
}

// outcomeSeeds holds the seeds to run, and the seeds that passed.
type outcomeSeeds struct {
	seeds  []uint64
	listed map[string]*cases.Case // of testdata/outcomes, by name
	until  time.Time              // after which no further seed begins; zero means no limit
	shrink bool

	mu      sync.Mutex
	folder  string   // CCM_OUTCOMES_STATE; empty keeps nothing
	passed  *os.File // nil without folder; a line has a seed, and what is kept of it
	earlier []string // what is kept of the chosen seeds that passed before
}

func newOutcomes(t *testing.T) *outcomeSeeds {
	s := &outcomeSeeds{listed: map[string]*cases.Case{}}
	files, err := filepath.Glob("testdata/outcomes/*.json")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		c := &cases.Case{}
		require.NoError(t, json.Unmarshal(text, c), file)
		s.listed[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	text := os.Getenv("CCM_OUTCOMES")
	if text == "" {
		s.seeds, s.until = seedsOfCommit(t, outcomeCI), time.Now().Add(outcomeTime)
		return s
	}
	s.shrink = os.Getenv("CCM_OUTCOMES_SHRINK") != "no"
	s.seeds = seedsIn(t, text)
	if folder := os.Getenv("CCM_OUTCOMES_STATE"); folder != "" {
		s.remember(t, folder)
	}
	return s
}

// seedsIn returns the seeds of a list such as 1-200,7.
func seedsIn(t *testing.T, text string) (seeds []uint64) {
	for _, part := range strings.Split(text, ",") {
		first, last, is := strings.Cut(part, "-")
		if !is {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 64)
		require.NoError(t, err)
		to, err := strconv.ParseUint(last, 10, 64)
		require.NoError(t, err)
		for seed := from; seed <= to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// seedsOfCommit returns seeds that the hash of the commit chooses.
func seedsOfCommit(t *testing.T, count int) (seeds []uint64) {
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Logf("git does not say which commit this is: %v", err)
	}
	h := fnv.New64a()
	_, _ = h.Write(commit)
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	for range count {
		seeds = append(seeds, random.Uint64N(1_000_000))
	}
	t.Logf("SEEDS=%s", strings.ReplaceAll(strings.Trim(fmt.Sprint(seeds), "[]"), " ", ","))
	return seeds
}

// remember removes the seeds that passed before, and opens the list to which passing seeds are added.
func (s *outcomeSeeds) remember(t *testing.T, folder string) {
	require.NoError(t, os.MkdirAll(folder, 0o755))
	s.folder = folder
	path := filepath.Join(folder, "passed")
	text, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	passed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		seed, kept, _ := strings.Cut(strings.TrimSpace(line), " ")
		passed[seed] = kept
	}
	all := s.seeds
	s.seeds = nil
	for _, seed := range all {
		if kept, is := passed[fmt.Sprint(seed)]; is {
			s.earlier = append(s.earlier, kept)
		} else {
			s.seeds = append(s.seeds, seed)
		}
	}
	t.Logf("%d of %d seeds passed before: %s", len(all)-len(s.seeds), len(all), path)
	s.passed, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { s.passed.Close() })
}

// run runs all cases, as many at once as there are lanes.
func (s *outcomeSeeds) run(t *testing.T, lanes chan *cases.Drive) {
	one := func(name string, c *cases.Case, done func()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := <-lanes
			defer func() { lanes <- d }()
			if !s.until.IsZero() && time.Now().After(s.until) {
				t.Skipf("NOT TESTED: %s are over", outcomeTime)
			}
			s.one(t, d, c, done)
		})
	}
	for name, c := range s.listed {
		one(name, c, nil)
	}
	for _, seed := range s.seeds {
		one(fmt.Sprint(seed), cases.Generate(seed), func() {
			if s.passed != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				fmt.Fprintln(s.passed, seed)
			}
		})
	}
}

// one runs a case. One that breaks a rule is made smaller and printed; of one that does not, lies must be noticed.
func (s *outcomeSeeds) one(t *testing.T, d *cases.Drive, c *cases.Case, passed func()) {
	attempts := shrinkAttempts
	try := func(c *cases.Case) (*cases.Outcome, []cases.Violation) {
		attempts--
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(t, err)
		o, err := d.Run(context.WithoutCancel(t.Context()), c, dir)
		require.NoError(t, err, cases.Describe(o, nil))
		return o, cases.Check(o)
	}
	o, found := try(c)
	if len(found) == 0 {
		missed, _ := cases.Unnoticed(o)
		require.Empty(t, missed, "the rules do not notice these lies\n%s", cases.Describe(o, nil))
		if passed != nil {
			passed()
		}
		return
	}
	first := found
	if s.folder != "" { // to shrink it takes minutes
		write(t, filepath.Join(s.folder, fmt.Sprintf("failed-%d", c.Seed)), cases.Describe(o, found))
	}
	if s.shrink {
		o, found = cases.Shrink(o, found, func() bool { return attempts > 0 }, try)
	}
	text, err := json.Marshal(o.Case)
	require.NoError(t, err)
	report := fmt.Sprintf("seed %d breaks %d rules, the first is\n%s\n\nas small as it got, to be kept as testdata/outcomes/NAME.json:\n%s\n\n%s", c.Seed, len(first), first[0], text, cases.Describe(o, found))
	if s.folder != "" {
		write(t, filepath.Join(s.folder, fmt.Sprintf("failed-%d", c.Seed)), report)
	}
	t.Error(report)
}

// TestFleetOutcomes is the same on hosts of the fleet, with seeds of its own.
func TestFleetOutcomes(t *testing.T) {
	f := leaseFleet(t)
	const hosts = 4
	if strings.Count(f.tool("status"), "\tlight\tup\n") < hosts {
		f.tool("up", fmt.Sprint(hosts))
		t.Cleanup(func() { f.tool("down") })
	}
	moduleDir(t)
	dir, err := os.MkdirTemp("", "outcomes-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	controller, err := cases.NewCells(dir, 0)
	require.NoError(t, err)
	t.Cleanup(controller.Close)
	key := regexp.MustCompile(`private_key: ([^,]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	d := &cases.Drive{Controller: controller.Controller, Push: func(dir string, args ...string) *exec.Cmd {
		push := pushCommand(t, dir, args...)
		cmd := controller.Enter(dir, push.Path, push.Args[1:]...)
		cmd.Env = push.Env
		return cmd
	}}
	for n := range hosts {
		b := f.box(n + 1)
		t.Cleanup(func() { b.Link.Close() })
		d.Hosts = append(d.Hosts, b)
		public := strings.Fields(f.sh(fmt.Sprintf("h%03d", n+1), "cat /etc/ssh/ssh_host_ed25519_key.pub"))
		write(t, filepath.Join(dir, b.Name), fmt.Sprintf("[127.0.0.1]:%d %s %s\n", b.Link.Port(), public[0], public[1]))
	}
	d.Inventory = func(hosts int) string {
		text := "all:\n  hosts:\n"
		for _, b := range d.Hosts[:hosts] {
			text += fmt.Sprintf("    %s: {connect: {address: 127.0.0.1, port: %d, user: root, private_key: %s, known_hosts: %s}}\n", b.Name, b.Link.Port(), key, filepath.Join(dir, b.Name))
		}
		return text
	}
	lanes := make(chan *cases.Drive, 1)
	lanes <- d
	s := newOutcomes(t)
	if s.listed = nil; os.Getenv("CCM_OUTCOMES") == "" {
		s.seeds = s.seeds[:2] // TestOutcomes takes all of them, on hosts that are cheaper
	}
	s.run(t, lanes)
}

// box is a host of the fleet as cases see it.
func (f *fleet) box(n int) *cases.Box {
	name := fmt.Sprintf("h%03d", n)
	link, err := faultproxy.Listen(f.address(fmt.Sprintf("0.%d:22", 10+n)))
	require.NoError(f, err)
	b := &cases.Box{Name: fmt.Sprintf("h%d", n), Link: link}
	var mu sync.Mutex
	first := func() int { // the process on this machine that is PID 1 of the host
		number, err := strconv.Atoi(f.outsidePID(name, "1"))
		require.NoError(f, err)
		return number
	}
	pid := first()
	current := func() int {
		mu.Lock()
		defer mu.Unlock()
		return pid
	}
	b.Root = func() string { return fmt.Sprintf("/proc/%d/root", current()) }
	b.Processes = func() []int { return cases.Descendants(current()) }
	b.Restart = func(time.Duration) error {
		if out, err := f.command("restart", name).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		assert.Eventually(f, func() bool { return answers(link.Port()) }, 30*time.Second, 50*time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		pid = first()
		return nil
	}
	return b
}

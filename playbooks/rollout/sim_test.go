package rollout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Rules as the oracle reads them: whole percents.
type (
	simLimit struct{ count, percent int }
	simRules struct {
		batches        []simLimit // a count of -1 is the rest
		maxUnavailable simLimit
		stop, perBatch map[string]simLimit // failed, unreachable, restarts
		gate           int
	}
)

func (l simLimit) amount() *Amount {
	if l == (simLimit{}) {
		return nil
	}
	return &Amount{Count: max(0, l.count), Percent: float64(l.percent), Rest: l.count < 0}
}

func (r simRules) rules() Rules {
	limits := func(of map[string]simLimit) Limits {
		return Limits{Failed: of["failed"].amount(), Unreachable: of["unreachable"].amount(), Restarts: of["restarts"].amount()}
	}
	rules := Rules{By: "rack", MaxUnavailable: r.maxUnavailable.amount(), Stop: limits(r.stop), PerBatch: limits(r.perBatch)}
	for _, size := range r.batches {
		rules.Batches = append(rules.Batches, *size.amount())
	}
	rules.Stop.Gate = simLimit{count: r.gate}.amount()
	return rules
}

// A simulation is one random rollout over hosts that are not there.
type simulation struct {
	t        testing.TB
	rand     *rand.Rand
	rules    simRules
	hosts    []Host // hosts of the play
	forks    int
	broken   bool // --include-broken
	done     map[string]bool
	changed  map[string]bool // changed hosts that are not done
	lost     map[string]bool
	left     map[string]bool
	released map[string]bool // released by a person after a check
	history  []string

	c      *Conductor
	o      *oracle
	bad    map[string]bool // hosts that ended badly
	went   bool            // a person has sent go, or the run was resumed
	begun  [][]string
	batch  []string // current batch
	gates  int
	before map[string]map[string]bool // counts of the earlier runs
	stop   *Stop                      // last seen stop
	seen   map[string]int             // counts by kind of event
}

// agrees compares the oracle's stop reason with the conductor's, and counts it.
func (s *simulation) agrees() {
	stop := s.c.Stopped()
	if s.o.agrees(stop); stop != nil && stop != s.stop {
		s.seen["stopped by `"+stop.Rule+"`"]++
	}
	s.stop = stop
}

func (s *simulation) note(format string, args ...any) {
	s.history = append(s.history, fmt.Sprintf(format, args...))
}
func (s *simulation) chance(percent int) bool { return s.rand.IntN(100) < percent }

func (s *simulation) limit(most int) simLimit {
	if s.chance(50) {
		return simLimit{count: 1 + s.rand.IntN(most)}
	}
	return simLimit{percent: 1 + s.rand.IntN(120)}
}

func newSimulation(t testing.TB, seed uint64) *simulation {
	s := &simulation{t: t, rand: rand.New(rand.NewPCG(seed, 19))}
	s.done, s.changed, s.lost, s.left, s.released, s.bad = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	s.seen = map[string]int{}
	s.forks, s.broken = 1+s.rand.IntN(12), s.chance(30)
	racks := 1 + s.rand.IntN(4)
	for i := range s.rand.IntN(25) {
		h := Host{Name: fmt.Sprintf("h%02d", i), Group: fmt.Sprint(s.rand.IntN(racks)), Changes: s.chance(85)}
		h.Unreachable = s.chance(4)
		h.Failed = !h.Unreachable && s.chance(3)
		h.Broken = !h.Unreachable && !h.Failed && s.chance(8)
		if s.chance(20) {
			h.Restarts = []string{"service#web"}
		}
		s.hosts = append(s.hosts, h)
	}
	for range s.rand.IntN(4) {
		s.rules.batches = append(s.rules.batches, s.limit(6))
	}
	if s.chance(30) {
		s.rules.batches = append(s.rules.batches, simLimit{count: -1})
	}
	if s.chance(75) {
		s.rules.maxUnavailable = s.limit(3)
	}
	some := func() map[string]simLimit {
		of := map[string]simLimit{}
		for _, rule := range []string{"failed", "unreachable", "restarts"} {
			if s.chance(40) {
				of[rule] = s.limit(6)
			}
		}
		return of
	}
	s.rules.stop, s.rules.perBatch = some(), some()
	s.rules.gate = s.rand.IntN(3)
	s.note("%d forks, include broken %t, rules %+v, hosts %+v", s.forks, s.broken, s.rules, s.hosts)
	return s
}

// run takes the rollout through all of its runs.
func (s *simulation) run() {
	defer func() {
		if s.t.Failed() {
			s.t.Logf("history:\n%s", strings.Join(s.history, "\n"))
		}
	}()
	s.before = map[string]map[string]bool{}
	for again := 0; ; again++ {
		require.Less(s.t, again, 200, "it does not come to an end")
		if !s.oneRun() || again == 5 {
			return
		}
		s.went = true
		s.note("gone on with")
		s.seen["a run was resumed"]++
	}
}

// oneRun reports whether the run was killed or has stopped, and is resumed.
func (s *simulation) oneRun() (again bool) {
	hosts, past := s.begin()
	p := NewPlan(s.rules.rules(), hosts, Options{IncludeBroken: s.broken, Begun: s.begun, Again: s.left})
	s.batches(p, hosts)
	s.c = NewConductor(p, past)
	s.wrongBefore(hosts, past)
	for s.c.Next() {
		s.batch = p.Batches[s.c.Batch()-1]
		s.o.size, s.o.batch = len(s.begun[s.c.Batch()-1]), map[string]map[string]bool{}
		for what, names := range s.o.went {
			s.o.batch[what] = map[string]bool{}
			for name := range names {
				if slices.Contains(s.begun[s.c.Batch()-1], name) {
					s.o.batch[what][name] = true
				}
			}
		}
		s.note("batch %d: %v", s.c.Batch(), s.batch)
		if ended, killed := s.work(); ended {
			return killed
		}
		if ended := s.gate(); ended {
			return s.chance(50)
		}
	}
	if !s.went {
		most, text := p.Harm(s.forks)
		require.LessOrEqual(s.t, len(s.bad), most, "%v: %s", s.bad, text)
	}
	return false
}

// begin does the checks of a run before it begins, and returns the record of the earlier run.
func (s *simulation) begin() (hosts []Host, past *Past) {
	for _, h := range s.hosts {
		if s.done[h.Name] {
			continue
		}
		if s.begun != nil { // hosts come back, and others go
			h.Unreachable = s.lost[h.Name] && s.chance(50) || s.chance(3)
			h.Failed = h.Failed && !h.Unreachable && s.chance(50)
			h.Broken = !h.Unreachable && !h.Failed && (h.Broken || s.changed[h.Name]) && s.chance(70)
			h.Changes = h.Changes || s.left[h.Name]
		}
		hosts = append(hosts, h)
	}
	if s.begun == nil {
		return hosts, nil
	}
	names := func(what string) (list []string) {
		for name := range s.before[what] {
			list = append(list, name)
		}
		slices.Sort(list)
		return list
	}
	return hosts, &Past{
		Batches: s.begun, Failed: names("failed"), Unreachable: names("unreachable"), Restarted: names("restarts"),
		Gates: make([]string, s.gates), Left: s.left,
	}
}

// batches compares the batches of a plan with the expected ones.
func (s *simulation) batches(p *Plan, hosts []Host) {
	var change []string
	for _, h := range hosts {
		if h.Changes && !h.Unreachable && !h.Failed && (!h.Broken || s.broken || s.left[h.Name]) {
			change = append(change, h.Name)
		}
	}
	old := len(s.begun) > 0
	if !old { // cut them as it is written: a share is rounded up, the last size repeats
		for rest, i := change, 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(s.rules.batches) > 0 {
				size := s.rules.batches[min(i, len(s.rules.batches)-1)]
				switch {
				case size.percent > 0:
					n = min(n, (size.percent*len(change)+99)/100)
				case size.count > 0:
					n = min(n, size.count)
				}
			}
			s.begun, rest = append(s.begun, rest[:n]), rest[n:]
		}
		require.Equal(s.t, s.begun, p.Batches)
		return
	}
	known := slices.Concat(s.begun...)
	for _, name := range change {
		if !slices.Contains(known, name) { // the new ones come last
			last := len(s.begun) - 1
			s.begun[last] = append(slices.Clone(s.begun[last]), name)
		}
	}
	for i, batch := range s.begun {
		want := slices.DeleteFunc(slices.Clone(batch), func(name string) bool { return !slices.Contains(change, name) })
		require.ElementsMatch(s.t, want, p.Batches[i])
	}
}

// wrongBefore has the oracle begin as the conductor does.
func (s *simulation) wrongBefore(hosts []Host, past *Past) {
	s.o = &oracle{t: s.t, rules: s.rules, racks: map[string]string{}, out: map[string]bool{}, work: map[string]bool{}, went: map[string]map[string]bool{}}
	s.o.rules.stop = map[string]simLimit{"failed": {count: 1}} // unless it is written
	for rule, limit := range s.rules.stop {
		s.o.rules.stop[rule] = limit
	}
	for what, names := range s.before {
		s.o.went[what] = map[string]bool{}
		for name := range names {
			s.o.went[what][name] = true
		}
	}
	predicted := map[string]bool{}
	for _, h := range hosts {
		s.o.racks[h.Name] = h.Group
	}
	for _, h := range hosts {
		s.o.out[h.Name] = h.Unreachable || h.Broken || s.left[h.Name]
		switch {
		case h.Unreachable && !s.before["unreachable"][h.Name]:
			s.o.happened(h.Name, "unreachable")
		case h.Failed && !s.before["failed"][h.Name]:
			s.o.happened(h.Name, "failed")
		}
		if len(h.Restarts) > 0 && slices.Contains(slices.Concat(s.begun...), h.Name) {
			predicted[h.Name] = true
		}
	}
	if most := share(s.rules.stop["restarts"], len(hosts)); past == nil && s.o.why == "" && most > 0 && len(predicted) >= most {
		s.o.why = "stop.restarts"
	}
	s.agrees()
	s.remember()
}

// remember keeps the data that the record has of the run at any moment.
func (s *simulation) remember() {
	s.before = map[string]map[string]bool{}
	for what, names := range s.o.went {
		s.before[what] = map[string]bool{}
		for name := range names {
			s.before[what][name] = true
		}
	}
}

// work processes the hosts of a batch. It reports whether the run has ended, and whether it is resumed.
func (s *simulation) work() (ended, again bool) {
	var working []string
	for step := 0; ; step++ {
		require.Less(s.t, step, 1000, "it does not come to an end")
		for len(working) < s.forks {
			name := s.c.Begin()
			if name == "" {
				s.nobodyMay()
				break
			}
			s.note("%s begins", name)
			s.seen["a host began"]++
			s.o.begins(name)
			require.Contains(s.t, s.batch, name)
			require.False(s.t, s.done[name])
			working = append(working, name)
			s.left[name] = true
		}
		require.Equal(s.t, len(working) == 0 && s.waiting() == 0, s.c.Over())
		switch {
		case s.c.Over() && (s.c.Stopped() == nil || s.chance(50)):
			return false, false
		case s.chance(2):
			s.note("killed")
			s.seen["the controller was killed"]++
			for _, name := range working { // it may be anything
				s.changed[name] = true
			}
			return true, true
		case len(working) > 0:
			working = s.something(working)
		case s.c.Stopped() != nil:
			if s.chance(30) {
				s.note("ended")
				return true, s.chance(50)
			}
			s.person()
		default:
			require.True(s.t, s.c.Stuck(), "nobody is in progress, and nobody is told")
			s.c.NoPlaces()
			s.o.why, s.o.names = "max_unavailable", nil
		}
		s.agrees()
		s.remember()
	}
}

// waiting counts the hosts of the batch that have not begun.
func (s *simulation) waiting() int { return s.c.Left() - s.behind() }

func (s *simulation) behind() (n int) {
	for _, batch := range s.c.plan.Batches[s.c.Batch():] {
		n += len(batch)
	}
	return n
}

// nobodyMay makes sure that places are taken again at once: the next host is not begun for a reason.
func (s *simulation) nobodyMay() {
	if s.o.why != "" {
		return
	}
	for _, name := range s.c.waiting {
		require.False(s.t, s.o.fits(name), "%s could begin", name)
	}
}

// something makes an event happen: a host in progress ends, or a person sends a command.
func (s *simulation) something(working []string) []string {
	i := s.rand.IntN(len(working))
	name := working[i]
	if s.chance(3) {
		s.note("hold")
		if s.c.Hold("ann"); s.o.why == "" {
			s.o.why, s.o.names = "hold", nil
		}
		return working
	}
	if s.chance(3) {
		s.note("no progress")
		if s.c.NoProgress(time.Minute); s.o.why == "" {
			s.o.why, s.o.names = "progress_deadline", slices.Clone(working)
		}
		return working
	}
	if s.chance(3) {
		s.person()
		return working
	}
	if s.chance(3) {
		s.c.Healthy(name) // no effect on a host in progress
		return working
	}
	working = slices.Delete(working, i, i+1)
	out := Outcome{Restarted: s.chance(20), Touched: true}
	before := s.c.working[name] != ""
	switch n := s.rand.IntN(100); {
	case n < 12:
		out.Failed = true
	case n < 18:
		out = Outcome{Failed: true}
	case n < 26:
		out.Unreachable, out.Failed = true, s.chance(50)
	}
	s.note("%s ends: %+v", name, out)
	s.c.End(name, out)
	switch {
	case out.Unreachable:
		s.seen["a host was lost"]++
	case out.Failed:
		s.seen["a host failed"]++
	}
	good := !out.Failed && !out.Unreachable
	s.done[name], s.lost[name], s.changed[name] = good, out.Unreachable, !good && out.Touched
	s.left[name] = !good && out.Touched
	s.o.work[name], s.o.out[name] = false, !good && (out.Touched || before)
	if !good {
		s.bad[name] = true
	}
	var kinds []string
	switch {
	case out.Unreachable:
		kinds = append(kinds, "unreachable")
	case out.Failed:
		kinds = append(kinds, "failed")
	}
	if out.Restarted {
		kinds = append(kinds, "restarts")
	}
	s.o.happened(name, kinds...)
	return working
}

// person sends a command to a rollout, or marks a host as healthy.
func (s *simulation) person() {
	if held := s.c.Held(); len(held) > 0 && s.chance(60) {
		name := held[s.rand.IntN(len(held))].Host
		s.note("%s is released", name)
		s.seen["a host that was out was released, or seen healthy"]++
		if s.chance(50) {
			require.NoError(s.t, s.c.Release(name))
		} else {
			s.c.Healthy(name)
		}
		s.o.out[name] = false
		return
	}
	s.note("go")
	s.c.Go()
	s.o.why, s.o.names, s.went = "", nil, true
}

// gate runs a gate after the batch. It reports whether the run ends.
func (s *simulation) gate() (ended bool) {
	verdict := Passed
	switch n := s.rand.IntN(100); {
	case n < 10:
		verdict = NotPassed
	case n < 15:
		verdict = Inconclusive
	}
	stops := s.chance(50)
	s.note("gate: %s, stops %t", verdict, stops)
	s.seen["a gate "+map[Verdict]string{Passed: "was passed", NotPassed: "was not passed", Inconclusive: "was inconclusive"}[verdict]]++
	s.c.Gate("web", verdict, stops, "because")
	if verdict == NotPassed || verdict == Inconclusive && stops {
		if s.gates++; s.o.why == "" && s.gates >= max(1, s.rules.gate) {
			s.o.why, s.o.names = "stop.gate", nil
		}
	} else if verdict == Inconclusive && s.o.why == "" {
		s.o.why, s.o.names = "gate", nil
	}
	s.agrees()
	if s.o.why == "" {
		return false
	}
	if s.chance(30) {
		return true
	}
	s.c.Go()
	s.o.why, s.o.names, s.went = "", nil, true
	return false
}

// TestRandomRollouts runs random rollouts: with failed, lost and formerly broken hosts, gates, killed controllers,
// resumed runs, and operators. testdata/random.txt has the number of events of each kind; docs/internals/lockouts.md
// repeats some of these numbers.
func TestRandomRollouts(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(1000) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSimulation(t, seed)
			s.run()
			for what, times := range s.seen {
				seen[what] += times
			}
		}) {
			return
		}
	}
	var table strings.Builder
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(&table, "%d %s\n", seen[what], what)
	}
	want, err := os.ReadFile("testdata/random.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), table.String())
}

func FuzzRollout(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newSimulation(t, seed).run() })
}

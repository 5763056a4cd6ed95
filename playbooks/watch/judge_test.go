package watch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
	good  = Verdict{Status: Stable}
)

func drift(value string) Verdict {
	return Verdict{Status: Changed, Cause: Drift, Message: "updated the file", Changes: []Change{{"content", value, "as it shall be"}}}
}

func repairing() *Rules {
	r := Defaults()
	r.Mode = Repair
	return &r
}

func kinds(all []Outcome) (list []Kind) {
	for _, o := range all {
		list = append(list, o.Kind)
	}
	return list
}

var motd = Key{"web1", 1, "file#/etc/motd"}

func TestReportTellsOnce(t *testing.T) {
	j, r := NewJudge(1), Defaults()
	tell := func(at time.Duration, v Verdict) []Kind { return kinds(j.Told(start.Add(at), motd, &r, v, false)) }
	require.Empty(t, tell(0, good))
	require.Equal(t, []Kind{Drifted}, tell(1, drift("x")))
	require.Empty(t, tell(2, drift("x")), "nothing new")
	require.Equal(t, []Kind{Drifted}, tell(3, drift("y")), "another value")
	repairs, next, _ := j.Due(start.Add(time.Hour))
	require.Empty(t, repairs)
	require.Zero(t, next)
	require.Equal(t, []Kind{Settled}, tell(4, good))
	require.Empty(t, tell(5, good))
}

func TestFlappingIsToldAFewTimes(t *testing.T) {
	j, r := NewJudge(1), Defaults()
	var all []Kind
	for i := range 50 {
		at := start.Add(time.Duration(i) * time.Second)
		all = append(all, kinds(j.Told(at, motd, &r, drift("x"), false))...)
		all = append(all, kinds(j.Told(at.Add(time.Second/2), motd, &r, good, false))...)
	}
	require.Equal(t, []Kind{Drifted, Settled, Drifted, Settled, Drifted, Settled, Fighting}, all)
}

func TestIgnoredAndNeverStable(t *testing.T) {
	j, r := NewJudge(1), Defaults()
	r.Ignore = []string{"mode", "owner"}
	mode := Verdict{Status: Changed, Cause: Drift, Changes: []Change{{"mode", "0600", "0644"}}}
	require.Empty(t, j.Told(start, motd, &r, mode, false))
	mode.Changes = append(mode.Changes, Change{"content", "a", "b"})
	require.Equal(t, []Kind{Drifted}, kinds(j.Told(start, motd, &r, mode, false)))

	always := Key{"web1", 1, "exec#date"}
	runs := Verdict{Status: Changed, Cause: Wish, Message: "executed"}
	require.Empty(t, j.Told(start, always, &r, runs, true), "it is never as it shall be")
	require.Empty(t, j.Told(start, always, &r, runs, false))
	astray, _ := j.Astray()
	require.Equal(t, []Key{motd}, astray)
}

func TestWhatARunHasChangedIsNotMended(t *testing.T) {
	j, r := NewJudge(1), repairing()
	v := drift("x")
	v.Cause, v.Writer = Run, &Writer{Run: "01J", Holder: "eve@elsewhere"}
	all := j.Told(start, motd, r, v, false)
	require.Equal(t, []Kind{Drifted}, kinds(all))
	require.Equal(t, "01J", all[0].Verdict.Writer.Run)
	repairs, _, _ := j.Due(start.Add(time.Hour))
	require.Empty(t, repairs)
	require.Equal(t, []string{motd.Ref}, j.Held(start, "web1", 1))
}

func TestUncertainIsNotMended(t *testing.T) {
	for _, only := range []bool{true, false} {
		j, r := NewJudge(1), repairing()
		r.OnlyCertain = only
		v := drift("x")
		v.Uncertain = true
		j.Told(start, motd, r, v, false)
		repairs, _, _ := j.Due(start)
		require.Equal(t, !only, len(repairs) == 1)
	}
}

// mend repairs everything that is due, and returns the number of repairs.
func mend(j *Judge, now time.Time, err string) int {
	due, _, _ := j.Due(now)
	j.Begun(now, due)
	for _, k := range due {
		j.Ended(k, err)
	}
	return len(due)
}

func TestARepairIsToldWhenTheHostHasSaidSo(t *testing.T) {
	j, r := NewJudge(1), repairing()
	j.Told(start, motd, r, drift("x"), false)
	require.Equal(t, 1, mend(j, start, ""))
	require.Zero(t, mend(j, start.Add(time.Second), ""), "it is not known yet what came of it")
	all := j.Told(start.Add(2*time.Second), motd, r, good, true)
	require.Equal(t, []Kind{Repaired}, kinds(all))
	require.Equal(t, start, all[0].Since)
}

// TestARepairIsToldWhenTheWatchEnds reports the outcome of a repair without a later report from the host.
func TestARepairIsToldWhenTheWatchEnds(t *testing.T) {
	j, r := NewJudge(1), repairing()
	passwd := Key{"web1", 1, "file#/etc/passwd"}
	for _, k := range []Key{motd, passwd} {
		j.Told(start, k, r, drift("x"), false)
	}
	require.Empty(t, j.Over(start, motd, ""), "it is not being mended")
	due, _, _ := j.Due(start)
	j.Begun(start, due)
	require.Equal(t, []Kind{Repaired}, kinds(j.Over(start.Add(time.Second), motd, "")))
	all := j.Over(start.Add(time.Second), passwd, "the run was interrupted")
	require.Equal(t, []Kind{Unmended}, kinds(all))
	require.Equal(t, "the run was interrupted", all[0].Error)
	require.Zero(t, all[0].Next)
	astray, _ := j.Astray()
	require.Equal(t, []Key{passwd}, astray)
	require.Empty(t, j.Told(start.Add(time.Minute), motd, r, good, true), "it was told")
}

// TestAFailedRepairEndsNothing checks that the wait grows after each failed repair, that repairs continue forever, and
// that the wait is reset after a success.
func TestAFailedRepairEndsNothing(t *testing.T) {
	j, r := NewJudge(1), repairing()
	r.Budget, r.Per = 1000, time.Hour
	now := start
	j.Told(now, motd, r, drift("x"), false)
	var waits []time.Duration
	for range 5 {
		require.Equal(t, 1, mend(j, now, "no space left on device"))
		all := j.Told(now, motd, r, drift("x"), true)
		require.Equal(t, []Kind{Unmended}, kinds(all))
		require.Equal(t, "no space left on device", all[0].Error)
		waits = append(waits, all[0].Next.Sub(now))
		require.Zero(t, mend(j, all[0].Next.Add(-1), ""))
		now = all[0].Next
	}
	require.Equal(t, []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute, 5 * time.Minute, 5 * time.Minute}, waits)
	require.Equal(t, 1, mend(j, now, ""))
	require.Equal(t, []Kind{Repaired}, kinds(j.Told(now, motd, r, good, true)))
	now = now.Add(time.Minute)
	j.Told(now, motd, r, drift("other"), false)
	require.Equal(t, 1, mend(j, now, ""), "a success has reset the wait")
}

func TestTheBudgetOfAResource(t *testing.T) {
	j, r := NewJudge(1), repairing()
	mended := 0
	var told []Kind
	for i := range 60 { // ten seconds each: another value each time
		now := start.Add(time.Duration(i) * 10 * time.Second)
		j.Told(now, motd, r, drift(fmt.Sprint(i)), false)
		_, _, more := j.Due(now)
		told = append(told, kinds(more)...)
		if n := mend(j, now, ""); n > 0 {
			mended += n
			j.Told(now.Add(time.Second), motd, r, good, true)
		}
	}
	require.Equal(t, r.Budget, mended)
	require.Equal(t, []Kind{Exhausted}, told, "it is told once")
	require.Equal(t, 1, mend(j, start.Add(r.Per), ""), "later there is a budget again")
}

func TestAFightEndsInLeavingItAlone(t *testing.T) {
	j, r := NewJudge(1), repairing()
	now := start
	require.Equal(t, []Kind{Drifted}, kinds(j.Told(now, motd, r, drift("theirs"), false)))
	require.Equal(t, 1, mend(j, now, ""))
	require.Equal(t, []Kind{Repaired}, kinds(j.Told(now.Add(time.Second), motd, r, good, true)))
	all := j.Told(now.Add(time.Minute), motd, r, drift("theirs"), false)
	require.Equal(t, []Kind{Fighting}, kinds(all))
	require.Equal(t, 2, all[0].Times)
	require.Contains(t, all[0].Values[1], "theirs")
	for _, later := range []time.Duration{time.Hour, 24 * time.Hour} {
		require.Zero(t, mend(j, now.Add(later), ""))
	}
	require.Empty(t, j.Told(now.Add(time.Hour), motd, r, good, false))
	require.Empty(t, j.Told(now.Add(time.Hour), motd, r, drift("theirs"), false))
	_, fighting := j.Astray()
	require.Equal(t, []Key{motd}, fighting)

	j.Release(motd)
	require.Equal(t, 1, mend(j, now.Add(25*time.Hour), ""))
}

// TestTwoWishesEnd has two controllers want the same file otherwise. Each sees of the other one that
// the file has drifted. Both leave it alone soon.
func TestTwoWishesEnd(t *testing.T) {
	r := repairing()
	r.Per = time.Hour
	judges := [2]*Judge{NewJudge(1), NewJudge(1)}
	world, writes := 0, 0 // whose wish the file is
	fights := map[int]bool{}
	for step := range 500 {
		now := start.Add(time.Duration(step) * 2 * time.Second)
		me := step % 2
		v := good
		if world != me {
			v = drift("that of the other")
		}
		for _, o := range judges[me].Told(now, motd, r, v, true) {
			fights[me] = fights[me] || o.Kind == Fighting
		}
		if n := mend(judges[me], now, ""); n > 0 {
			world = me
			writes += n
		}
	}
	require.LessOrEqual(t, writes, 4)
	require.True(t, fights[0] || fights[1])
}

func TestQuietWindowsAndTheFleet(t *testing.T) {
	r := repairing()
	w, err := ParseWindow("Mon 12:00-13:00")
	require.NoError(t, err)
	r.Quiet = []Window{w}
	j := NewJudge(200)
	for i := range 200 {
		j.Told(start, Key{fmt.Sprintf("web%03d", i), 1, "file#/wrong"}, r, drift("x"), false)
	}
	due, next, _ := j.Due(start)
	require.Empty(t, due)
	require.Equal(t, start.Add(time.Minute), next)
	now := start.Add(time.Hour)
	require.Equal(t, 4, mend(j, now, "wrong"), "2 %")
	require.Zero(t, mend(j, now.Add(time.Second), ""))
}

// TestNeverMoreThanMayBe takes random drifts, repairs and failures through a judge, and counts: of
// hosts within Per, and of repairs of a resource.
func TestNeverMoreThanMayBe(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		hosts := 1 + random.IntN(120)
		r := repairing()
		r.Fewest = 1
		r.Fleet, r.Budget = []float64{1, 2, 10, 50, 100}[random.IntN(5)], 1+random.IntN(4)
		most := max(1, int(float64(hosts)*r.Fleet/100))
		j := NewJudge(hosts)
		type repair struct {
			at time.Time
			k  Key
		}
		var done []repair
		busy := []Key{}
		now := start
		for range 300 {
			now = now.Add(time.Duration(random.IntN(40)) * time.Second)
			k := Key{fmt.Sprint("h", random.IntN(hosts)), 1, fmt.Sprint("file#", random.IntN(2))}
			v := good
			if random.IntN(4) > 0 {
				v = drift(fmt.Sprint(random.IntN(5)))
			}
			j.Told(now, k, r, v, random.IntN(2) == 0)
			due, _, _ := j.Due(now)
			for _, k := range due {
				require.NotContains(t, busy, k)
				done = append(done, repair{now, k})
			}
			j.Begun(now, due)
			busy = append(busy, due...)
			for len(busy) > 0 && random.IntN(3) > 0 {
				j.Ended(busy[0], []string{"", "failed"}[random.IntN(2)])
				busy = busy[1:]
			}
			recent, of := map[string]bool{}, map[Key]int{}
			for _, one := range done {
				if now.Sub(one.at) < r.Per {
					recent[one.k.Host] = true
					of[one.k]++
				}
			}
			require.LessOrEqual(t, len(recent), most, "seed %d", seed)
			for k, n := range of {
				require.LessOrEqual(t, n, r.Budget, "seed %d: %v", seed, k)
			}
		}
		require.NotEmpty(t, done, "seed %d", seed)
	}
}

// TestWaitingForTheFleet reports once which hosts use the budget, and until when. A small fleet has three hosts repaired.
func TestWaitingForTheFleet(t *testing.T) {
	r := repairing()
	j := NewJudge(5)
	for i := range 5 {
		j.Told(start, Key{fmt.Sprint("web", i), 1, "file#/wrong"}, r, drift("x"), false)
	}
	due, next, told := j.Due(start)
	require.Len(t, due, 3)
	require.Equal(t, start.Add(time.Minute), next)
	require.Equal(t, []Kind{Waiting, Waiting}, kinds(told))
	require.Equal(t, "web3", told[0].Key.Host)
	require.Equal(t, []string{"web0", "web1", "web2"}, told[0].Using)
	require.Equal(t, 3, told[0].Limit)
	require.Equal(t, start.Add(r.Per), told[0].Next)
	j.Begun(start, due)
	for _, k := range due {
		j.Ended(k, "")
		j.Told(start, k, r, good, true)
	}
	for _, at := range []time.Duration{1, r.Per - 1} {
		due, _, told = j.Due(start.Add(at))
		require.Empty(t, due)
		require.Empty(t, told, "it was reported")
	}
	due, _, told = j.Due(start.Add(r.Per))
	require.Len(t, due, 2)
	require.Empty(t, told)
	given := *r
	given.Fewest = 1 // the same as 2% in a manifest
	require.Equal(t, 1, given.hosts(5))
	require.Equal(t, 4, r.hosts(200))
}

func TestWindows(t *testing.T) {
	at := func(day int, clock string) time.Time {
		c, err := time.Parse("15:04", clock)
		require.NoError(t, err)
		return time.Date(2026, 3, 1+day, c.Hour(), c.Minute(), 0, 0, time.UTC) // the first is a Sunday
	}
	for _, c := range []struct {
		window  string
		in, out []time.Time
	}{
		{"02:00-04:00", []time.Time{at(0, "02:00"), at(3, "03:59")}, []time.Time{at(0, "01:59"), at(3, "04:00")}},
		{"Sat 02:00-04:00", []time.Time{at(6, "02:00")}, []time.Time{at(0, "02:00"), at(5, "03:00")}},
		{"Fri-Mon 22:00-06:00", []time.Time{at(5, "22:00"), at(6, "05:59"), at(0, "23:00"), at(2, "05:00")}, []time.Time{at(5, "05:00"), at(2, "06:00"), at(2, "22:30")}},
		{"mon,WED 00:00-24:00", []time.Time{at(1, "00:00"), at(3, "23:59")}, []time.Time{at(2, "00:00"), at(4, "00:00")}},
	} {
		w, err := ParseWindow(c.window)
		require.NoError(t, err, c.window)
		again, err := ParseWindow(w.String())
		require.NoError(t, err)
		require.Equal(t, w, again, w.String())
		for _, now := range c.in {
			require.True(t, w.Holds(now), "%s %s", c.window, now)
		}
		for _, now := range c.out {
			require.False(t, w.Holds(now), "%s %s", c.window, now)
		}
	}
	for _, wrong := range []string{"", "Sat", "2:00-4:00", "02:00", "25:00-26:00", "02:60-03:00", "02:00-02:00", "24:00-02:00", "Sat Sun 02:00-03:00", "Foo 02:00-03:00", "Sat- 02:00-03:00", "0a:00-03:00"} {
		_, err := ParseWindow(wrong)
		require.Error(t, err, wrong)
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, text := range []string{"02:00-04:00", "Sat 02:00-04:00", "Mon-Fri,Sun 22:00-06:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := ParseWindow(text)
		if err != nil {
			return
		}
		held := 0
		for minute := range 7 * 24 * 60 {
			if w.Holds(start.Add(time.Duration(minute) * time.Minute)) {
				held++
			}
		}
		require.Positive(t, held)
		require.True(t, slices.Contains(w.Days[:], true))
		again, err := ParseWindow(w.String())
		require.NoError(t, err, w.String())
		require.Equal(t, w, again)
	})
}

// TestLostHostsAreLeftAlone checks that lost hosts are not repaired until they are found, and that resources that have
// left a catalog are dropped.
func TestLostHostsAreLeftAlone(t *testing.T) {
	j, r := NewJudge(1), repairing()
	j.Told(start, motd, r, drift("x"), false)
	j.Lost("web1")
	require.Zero(t, mend(j, start, ""))
	j.Found("web1")
	j.Keep("web1", 2, nil)
	j.Keep("web2", 1, nil)
	j.Keep("web1", 1, map[string]bool{motd.Ref: true})
	require.Equal(t, 1, mend(j, start, ""))
	j.Keep("web1", 1, map[string]bool{"file#/etc/issue": true})
	astray, _ := j.Astray()
	require.Empty(t, astray)
}

// TestUnknownIsNotRepairedAgain has the command of a repair be cut.
func TestUnknownIsNotRepairedAgain(t *testing.T) {
	j, r := NewJudge(1), repairing()
	j.Told(start, motd, r, good, true)
	j.Told(start, motd, r, drift("x"), false)
	repairs, _, _ := j.Due(start)
	require.Equal(t, []Key{motd}, repairs)
	j.Begun(start, repairs)
	j.Unknown(motd)
	j.Ended(motd, "it was cut")
	all := j.Told(start.Add(time.Second), motd, r, drift("x"), false)
	require.Equal(t, []Kind{Unmended}, kinds(all))
	require.Zero(t, all[0].Next)
	repairs, next, _ := j.Due(start.Add(24 * time.Hour))
	require.Empty(t, repairs)
	require.Zero(t, next)
	require.Equal(t, []string{motd.Ref}, j.Held(start, motd.Host, motd.Play), "a repair of another resource leaves it alone, too")
	j.Release(motd)
	repairs, _, _ = j.Due(start.Add(24 * time.Hour))
	require.Equal(t, []Key{motd}, repairs)
}

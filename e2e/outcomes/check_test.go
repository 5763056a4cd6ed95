package outcomes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCheckNoticesLies has simulated runs without faults, which break no rule, and lies about them, which all must be
// noticed.
func TestCheckNoticesLies(t *testing.T) {
	told := 0
	for seed := range uint64(120) {
		o := simulate(Generate(seed))
		require.Empty(t, Check(o), Describe(o, Check(o)))
		missed, n := Unnoticed(o)
		require.Empty(t, missed, Describe(o, nil))
		told += n
	}
	require.Greater(t, told, 700)
}

// TestEachLieIsTold keeps the lies from being about nothing.
func TestEachLieIsTold(t *testing.T) {
	for _, lie := range Lies {
		some := false
		for seed := range uint64(400) {
			if o := simulate(Generate(seed)); lie.tell(o) {
				some = true
				break
			}
		}
		require.True(t, some || strings.Contains(lie.Name, "undo"), lie.Name)
	}
}

func TestGenerateIsTheSameEachTime(t *testing.T) {
	for seed := range uint64(50) {
		require.Equal(t, Generate(seed), Generate(seed))
		text, err := json.Marshal(Generate(seed))
		require.NoError(t, err)
		var again Case
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, Generate(seed).Manifest(), again.Manifest())
	}
}

func TestReadLog(t *testing.T) {
	began, err := ReadLog("h1", "B e1 h1 10 1000\nB e1 h1 11 2000\nE e1 h1 11 3000 1\n")
	require.NoError(t, err)
	require.Len(t, began, 2)
	require.True(t, began[0].cut())
	require.Equal(t, Began{Name: "e1", For: "h1", At: "h1", Begin: time.Unix(0, 2000), End: time.Unix(0, 3000), Status: 1, pid: "11"}, began[1])
	_, err = ReadLog("h1", "E e1 h1 10 3000 1\n")
	require.ErrorContains(t, err, "an end without a beginning")
}

// A simulation runs a case without faults, one command after the other.
type simulation struct {
	*Outcome
	now    time.Time
	events []Event
}

func simulate(c *Case) *Outcome {
	c.Calls = c.Calls[:1]
	s := &simulation{Outcome: &Outcome{Case: c}, now: time.Unix(1_000_000, 0)}
	begin := s.now
	s.Truth.Before, s.Truth.After = map[string]Snapshot{}, map[string]Snapshot{}
	for _, host := range append(c.Hosts, Controller) {
		before := Snapshot{Tree + "/shared.txt": `-rw-r----- 0:0 "first\nlast\n"`}
		for _, r := range newChecker(s.Outcome).all {
			if r.Existed {
				before[r.Path()] = fmt.Sprintf("-rw-r----- 0:0 %q", "old "+r.Name+"\n")
			}
		}
		s.Truth.Before[host], s.Truth.After[host] = before, union(before, nil)
	}
	out := map[string]bool{} // hosts that failed in an earlier play
	for n := range c.Plays {
		failed := map[string]bool{}
		once := map[string]Event{}
		for _, host := range c.Plays[n].Hosts {
			if !out[host] {
				failed[host] = s.host(&c.Plays[n], host, once)
			}
			// With serial, once is for each batch.
			if serial := c.Plays[n].Serial; serial > 0 {
				for i, h := range c.Plays[n].Hosts {
					if h == host && (i+1)%serial == 0 {
						once = map[string]Event{}
					}
				}
			}
		}
		for host, is := range failed {
			out[host] = out[host] || is
		}
	}
	status, summary := 0, Event{Event: "summary"}
	for _, e := range s.events {
		switch e.Status {
		case "failed":
			summary.Totals.Resources.Failed++
			status = 2
		case "rescued":
			summary.Totals.Resources.Rescued++
		case "skipped":
			summary.Totals.Resources.Skipped++
		}
	}
	events := append(s.events, summary)
	s.Called = []Called{{Call: c.Calls[0], Begin: begin, Status: status, Runs: []Run{{ID: "1", Do: "run", Events: events}}, Printed: events}}
	return s.Outcome
}

// host runs a play on a host. It reports whether something failed there.
func (s *simulation) host(p *Play, host string, once map[string]Event) bool {
	status := map[string]string{}
	broken := false
	run := func(r *Resource, rescued bool) bool {
		all := "stable"
		for _, element := range r.names() {
			e := s.resource(r, element, host, status, once)
			if e.Status == "failed" && rescued {
				s.events[len(s.events)-1].Status = "rescued"
			}
			if e.Status != "stable" {
				all = e.Status
			}
		}
		status[r.Name] = all
		return all == "failed"
	}
	skip := func(r *Resource) {
		for _, element := range r.names() {
			s.report(r, element, host, "skipped", "")
		}
		status[r.Name] = "failed" // for those who require it
	}
	for i := range p.Items {
		item := &p.Items[i]
		if item.Block == nil {
			if broken && p.FailOnError {
				skip(item.Resource)
			} else if run(item.Resource, false) {
				broken = true
			}
			continue
		}
		b, bad := item.Block, false
		if broken && p.FailOnError {
			continue
		}
		for i := range b.Main {
			if bad {
				skip(&b.Main[i])
			} else {
				bad = run(&b.Main[i], len(b.Rescue) > 0)
			}
		}
		for i := range b.Rescue {
			if !bad {
				skip(&b.Rescue[i])
			} else {
				broken = run(&b.Rescue[i], false) || broken
			}
		}
		for i := range b.Always {
			broken = run(&b.Always[i], false) || broken
		}
		broken = broken || bad && len(b.Rescue) == 0
	}
	return broken
}

func (s *simulation) report(r *Resource, element, host, status, why string) Event {
	title := element
	if r.Kind == File || r.Kind == Absent {
		title = r.Path()
	}
	e := Event{Event: "result", Host: host, Type: string(r.Kind), Name: title, Status: status, Error: why}
	s.events = append(s.events, e)
	return e
}

func (s *simulation) resource(r *Resource, element, host string, status map[string]string, once map[string]Event) Event {
	for _, name := range r.Require {
		if status[name] == "failed" || status[name] == "skipped" {
			return s.report(r, element, host, "skipped", "")
		}
	}
	after := s.Truth.After[host]
	switch {
	case r.Kind == File:
		content := r.Name
		if r.Uses != "" {
			content = r.Uses
			if status[r.Uses] != "changed" {
				return s.report(r, element, host, "skipped", "")
			}
		}
		after[r.Path()] = fmt.Sprintf("-rw-r--r-- 0:0 %q", content+" "+host+"\n")
		return s.report(r, element, host, "changed", "")
	case r.Kind == Absent:
		delete(after, r.Path())
		return s.report(r, element, host, "changed", "")
	case r.Kind == Line:
		after[r.Path()] = strings.TrimSuffix(after[r.Path()], `"`) + "line " + r.Name + `\n"`
		return s.report(r, element, host, "changed", "")
	case r.RefreshOnly && status[r.Subscribe] != "changed":
		return s.report(r, element, host, "stable", "")
	}
	if first, is := once[r.Name]; is && r.Once {
		first.On, first.Host = first.Host, host
		s.events = append(s.events, first)
		return first
	}
	b := Began{Name: element, For: host, At: host, Begin: s.now, End: s.now.Add(time.Second)}
	if r.On != "" {
		b.At = r.On
	}
	s.now = s.now.Add(2 * time.Second)
	if r.Fails {
		b.Status = 1
	}
	s.Truth.Began = append(s.Truth.Began, b)
	e := Event{}
	if r.Fails {
		e = s.report(r, element, host, "failed", "exited with status 1")
	} else {
		e = s.report(r, element, host, "changed", "")
	}
	if r.On != "" && r.On != host {
		s.events[len(s.events)-1].On = r.On
	}
	once[r.Name] = e
	return e
}

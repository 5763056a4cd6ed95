package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// A Conductor follows a rollout, and decides what may happen next. It is for one goroutine.
type Conductor struct {
	plan  *Plan
	batch int // current batch; -1 before the first
	// waiting has the hosts of the batch that have not begun, in their order; working has the hosts in progress.
	waiting []string
	working map[string]string // and why they held a place before they began: "" is that they held none
	busy    map[string]int    // hosts in progress, by group
	// out has the hosts that hold a place among the unavailable ones, with the reasons.
	out  map[string]string
	used map[string]int // places of each group

	done    int      // hosts that have ended well
	touched []string // hosts that have been changed, or may have, in the order in which they ended
	counts  counts   // counts of the whole rollout
	ofBatch counts
	stop    *Stop
}

// counts are the hosts that limits count, each once, in the order of the events.
type counts struct {
	failed, unreachable, restarted []string
	gates                          []string
}

// An Outcome describes how a host has ended.
type Outcome struct {
	Failed bool
	// Unreachable is set if the host could not be reached, or was lost.
	Unreachable bool
	// Touched is set if the host has changed, or may have.
	Touched bool
	// Restarted is set if a service or a command was restarted because another resource had changed.
	Restarted bool
}

// A Stop is the reason why a rollout has stopped.
type Stop struct {
	Rule  string   `json:"rule"`            // key of the limit: stop.failed
	Text  string   `json:"text"`            // its arithmetic
	Hosts []string `json:"hosts,omitempty"` // counted hosts
	Gates []string `json:"gates,omitempty"`
	Batch int      `json:"batch"` // from 1; 0 before the first
}

func (s *Stop) String() string { return s.Rule + ": " + s.Text }

// A Past is the state of an earlier run that this one resumes.
type Past struct {
	Batch                          int // its last batch, from 1
	Batches                        [][]string
	Failed, Unreachable, Restarted []string
	Gates                          []string
	// Left are hosts that had begun and were not brought to an end: they may be out of service.
	Left map[string]bool
}

// NewConductor begins a rollout. Results of an earlier run are counted, but do not stop the rollout by themselves,
// since the operator has seen them. past may be nil.
func NewConductor(p *Plan, past *Past) *Conductor {
	c := &Conductor{plan: p, batch: -1, working: map[string]string{}, busy: map[string]int{}, out: map[string]string{}, used: map[string]int{}}
	if past != nil {
		c.counts = counts{slices.Clone(past.Failed), slices.Clone(past.Unreachable), slices.Clone(past.Restarted), slices.Clone(past.Gates)}
	}
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if past != nil && past.Left[h.Name] {
			c.hold(h.Name, "was in progress when the run before ended")
		}
		switch {
		case h.Unreachable:
			c.hold(h.Name, "could not be reached before the rollout")
			c.judge(c.count(h.Name, Outcome{Unreachable: true}))
		case h.Failed:
			c.judge(c.count(h.Name, Outcome{Failed: true}))
		case h.Broken:
			c.hold(h.Name, "was not healthy before the rollout")
		}
	}
	if past == nil {
		c.predicted()
	}
	return c
}

// predicted stops a rollout that would reach its limit of restarts in any case.
func (c *Conductor) predicted() {
	limit := c.plan.Rules.Stop.Restarts
	if limit == nil || c.stop != nil {
		return
	}
	restarting := slices.Clone(c.counts.restarted)
	for _, batch := range c.plan.Batches {
		for _, name := range batch {
			if len(c.plan.Host(name).Restarts) > 0 && !slices.Contains(restarting, name) {
				restarting = append(restarting, name)
			}
		}
	}
	if most := limit.Down(len(c.plan.Hosts)); len(restarting) >= most {
		text := fmt.Sprintf("services would restart on %d of %d hosts; limit: %s", len(restarting), len(c.plan.Hosts), c.reckoned(*limit, len(c.plan.Hosts)))
		c.stopBy("stop.restarts", text, restarting, nil)
	}
}

// Next begins the next batch, once the previous one has ended; false means that there is none.
func (c *Conductor) Next() bool {
	if c.batch+1 >= len(c.plan.Batches) {
		return false
	}
	c.batch++
	c.waiting, c.ofBatch = slices.Clone(c.plan.Batches[c.batch]), c.counts.of(c.plan.whole[c.batch])
	return true
}

// Batch is the number of the batch that has begun, from 1; 0 before the first.
func (c *Conductor) Batch() int { return c.batch + 1 }

// Over reports whether every host of the batch has ended.
func (c *Conductor) Over() bool { return len(c.waiting) == 0 && len(c.working) == 0 }

// Begin returns a host that may begin now, and holds its place; empty means none.
func (c *Conductor) Begin() string {
	i := slices.IndexFunc(c.waiting, c.mayBegin)
	if c.stop != nil || i < 0 {
		return ""
	}
	name := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.working[name] = c.out[name]
	c.busy[c.plan.Host(name).Group]++
	c.hold(name, "is in progress")
	return name
}

// mayBegin reports whether there is a place for a host. A host that was unavailable before holds a place already, but
// has to take turns as well: changing it may fail as for any other.
func (c *Conductor) mayBegin(name string) bool {
	if c.plan.places == nil {
		return true
	}
	group := c.plan.Host(name).Group
	most := c.plan.places[group]
	return c.busy[group] < most && (c.out[name] != "" || c.used[group] < most)
}

// Stuck reports whether hosts wait for places that only others hold who have ended.
func (c *Conductor) Stuck() bool {
	return c.stop == nil && len(c.waiting) > 0 && len(c.working) == 0 && !slices.ContainsFunc(c.waiting, c.mayBegin)
}

// End records the outcome of a host that had begun.
func (c *Conductor) End(name string, o Outcome) {
	switch {
	case o.Unreachable:
		c.hold(name, "was lost")
	case o.Failed && o.Touched:
		c.hold(name, "has failed")
	case o.Failed:
		c.asBefore(name)
	default:
		c.free(name)
	}
	c.rest(name)
	if !o.Failed && !o.Unreachable {
		c.done++
	}
	if o.Touched {
		c.touched = append(c.touched, name)
	}
	c.count(name, o)
	c.judge(o.counted()) // also if it was counted in the run before
}

// Leave returns a host that had begun to the waiting ones, because the run ends before the host does. Changes of the
// host may be undone.
func (c *Conductor) Leave(name string, touched bool) {
	if touched {
		c.touched = append(c.touched, name)
	}
	c.asBefore(name)
	c.rest(name)
	c.waiting = append([]string{name}, c.waiting...)
}

// asBefore restores the place that a host in progress held before it began, or frees its place.
func (c *Conductor) asBefore(name string) {
	if why := c.working[name]; why != "" {
		c.hold(name, why)
		return
	}
	c.free(name)
}

// Healthy frees the place of a host that has ended and has been seen healthy since.
func (c *Conductor) Healthy(name string) {
	if !c.at(name) {
		c.free(name)
	}
}

// Release frees the place of a host that a person answers for. It returns an error if the host
// holds none.
func (c *Conductor) Release(name string) error {
	switch {
	case !c.plan.Has(name):
		return fmt.Errorf("%s is not a host of this rollout", name)
	case c.at(name):
		return fmt.Errorf("%s is in progress", name)
	case c.out[name] == "":
		return fmt.Errorf("%s holds no place", name)
	}
	c.free(name)
	return nil
}

// A Held is the place of a host that has ended, or never began.
type Held struct {
	Host string `json:"host"`
	Why  string `json:"why"`
}

// Held returns the hosts that hold places and are not in progress, in the order of the play.
func (c *Conductor) Held() []Held {
	var list []Held
	for i := range c.plan.Hosts {
		name := c.plan.Hosts[i].Name
		if why := c.out[name]; why != "" && !c.at(name) {
			list = append(list, Held{name, why})
		}
	}
	return list
}

// at reports whether a host is in progress.
func (c *Conductor) at(name string) bool {
	_, ok := c.working[name]
	return ok
}

// rest marks a host as no longer in progress.
func (c *Conductor) rest(name string) {
	delete(c.working, name)
	c.busy[c.plan.Host(name).Group]--
}

func (c *Conductor) hold(name, why string) {
	if c.out[name] == "" {
		c.used[c.plan.Host(name).Group]++
	}
	c.out[name] = why
}

func (c *Conductor) free(name string) {
	if c.out[name] != "" {
		c.used[c.plan.Host(name).Group]--
		delete(c.out, name)
	}
}

// A Verdict is the result of a gate.
type Verdict string

const (
	Passed       Verdict = "passed"
	NotPassed    Verdict = "failed"
	Inconclusive Verdict = "inconclusive" // which is never a yes
)

// Gate records the verdict of a gate after the batch. With stops, an inconclusive gate counts as failed; otherwise it
// stops the rollout until the operator has decided.
func (c *Conductor) Gate(name string, v Verdict, stops bool, why string) {
	switch {
	case v == Passed:
	case v == NotPassed, stops:
		c.counts.gates = append(c.counts.gates, name)
		c.ofBatch.gates = append(c.ofBatch.gates, name)
		c.judgeGates(why)
	case c.stop == nil:
		c.stopBy("gate", fmt.Sprintf("%s is inconclusive: %s", name, why), nil, []string{name})
	}
}

// NoProgress records that no host has finished within the progress deadline.
func (c *Conductor) NoProgress(d time.Duration) {
	if c.stop == nil {
		c.stopBy("progress_deadline", fmt.Sprintf("no host has finished for %s; in progress: %s", printable.Duration(d), cmp.Or(List(c.AtWork()), "none")), c.AtWork(), nil)
	}
}

// NoPlaces records that none of the hosts that hold the needed places has become healthy.
func (c *Conductor) NoPlaces() {
	if !c.Stuck() {
		return
	}
	awaited := map[string]bool{}
	for _, name := range c.waiting {
		awaited[c.plan.Host(name).Group] = true
	}
	var names, whys []string
	for _, h := range c.Held() {
		if awaited[c.plan.Host(h.Host).Group] {
			names, whys = append(names, h.Host), append(whys, h.Host+" "+h.Why)
		}
	}
	waiting := "1 host waits"
	if n := len(c.waiting); n > 1 {
		waiting = fmt.Sprintf("%d hosts wait", n)
	}
	c.stopBy("max_unavailable", fmt.Sprintf("%s may be unavailable at once; unavailable now: %s; %s", c.mayBeOut(), List(whys), waiting), names, nil)
}

func (c *Conductor) mayBeOut() string {
	of, most := "the rollout", c.plan.Rules.MaxUnavailable
	if by := c.plan.Rules.By; by != "" {
		of = "each " + by
	}
	switch {
	case most.Count == 1:
		return "1 host of " + of
	case most.Count > 0:
		return fmt.Sprintf("%d hosts of %s", most.Count, of)
	}
	return fmt.Sprintf("%s of the hosts of %s", most, of)
}

// WithoutCanary records that the canary host cannot be tested.
func (c *Conductor) WithoutCanary() {
	if c.stop == nil {
		c.stopBy("canary", c.plan.NoCanary+", so the canary has no result", nil, nil)
	}
}

// Hold stops a rollout on an operator's command.
func (c *Conductor) Hold(by string) {
	if c.stop == nil {
		c.stopBy("hold", "requested by "+by, nil, nil)
	}
}

// Go continues after a stop. The counts are kept: the next counted host stops the rollout again.
func (c *Conductor) Go() { c.stop = nil }

// Stopped returns why the rollout has stopped; nil if it has not.
func (c *Conductor) Stopped() *Stop { return c.stop }

// Touched returns the hosts that have changed, or may have: of the batch, or of all.
func (c *Conductor) Touched(ofBatch bool) []string {
	if !ofBatch || c.batch < 0 {
		return slices.Clone(c.touched)
	}
	in := c.plan.Batches[c.batch]
	return slices.DeleteFunc(slices.Clone(c.touched), func(name string) bool { return !slices.Contains(in, name) })
}

// Left returns how many hosts have not begun.
func (c *Conductor) Left() int {
	n := len(c.waiting)
	for _, batch := range c.plan.Batches[c.batch+1:] {
		n += len(batch)
	}
	return n
}

// AtWork are the hosts that have begun and not ended, in the order of the play.
func (c *Conductor) AtWork() []string {
	var names []string
	for i := range c.plan.Hosts {
		if name := c.plan.Hosts[i].Name; c.at(name) {
			names = append(names, name)
		}
	}
	return names
}

// count counts the outcome of a host, once, and returns which counts have increased.
func (c *Conductor) count(name string, o Outcome) (more counted) {
	more = c.counts.add(name, o)
	if c.batch >= 0 {
		c.ofBatch.add(name, o)
	}
	return more
}

// counted has the counts that have increased.
type counted struct{ failed, unreachable, restarted bool }

func (o Outcome) counted() counted {
	return counted{o.Failed && !o.Unreachable, o.Unreachable, o.Restarted}
}

func (c *counts) add(name string, o Outcome) (more counted) {
	of := o.counted()
	more.failed = of.failed && add(&c.failed, name)
	more.unreachable = of.unreachable && add(&c.unreachable, name)
	more.restarted = of.restarted && add(&c.restarted, name)
	return more
}

// of returns the counts for some hosts, without gates.
func (c *counts) of(hosts []string) counts {
	only := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(hosts, name) })
	}
	return counts{failed: only(c.failed), unreachable: only(c.unreachable), restarted: only(c.restarted)}
}

func add(names *[]string, name string) bool {
	if slices.Contains(*names, name) {
		return false
	}
	*names = append(*names, name)
	return true
}

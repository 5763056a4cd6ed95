package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Host is a host of the play, with the results of its check run.
type Host struct {
	Name  string
	Group string // the value of [Rules.By]; "" without
	// Changes is set if something will change on it, or if this is not known.
	Changes        bool
	Restarts       []string // resources that will certainly be restarted
	LikelyRestarts []string // resources that will likely be restarted
	// Unreachable, Failed and Broken are the problems before the rollout began: it could not be reached, its check
	// failed as a whole, or it was not healthy.
	Unreachable, Failed, Broken bool
	// Done is set if the resumed run has finished it: shares count it among the hosts.
	Done bool
}

// Healthy reports whether the host could be reached, and was healthy, before the rollout began.
func (h *Host) Healthy() bool { return !h.Unreachable && !h.Broken }

// A Plan applies rules to some hosts, before anything has changed.
type Plan struct {
	Rules   Rules
	Hosts   []Host // hosts of the play, in its order
	Batches [][]string
	// Canary is set if the first batch is the requested canary host. NoCanary is the reason why it is not: the host
	// could not be checked, or is not healthy (Sick), or nothing will change on it.
	Canary   bool
	NoCanary string
	Sick     bool

	whole  [][]string     // batches including hosts that an earlier run has finished
	at     map[string]int // hosts by name
	places map[string]int // hosts of each group that may be out at once; nil if that is not bounded
}

// Options of a plan.
type Options struct {
	// IncludeBroken also changes hosts that were not healthy before.
	IncludeBroken bool
	// Again has the hosts that the resumed run had begun and not finished: they are changed even if they are not
	// healthy.
	Again map[string]bool
	// Canary is the only host of the first batch; empty means none.
	Canary string
	// Begun has the batches of the resumed run, in their order; nil means none.
	Begun [][]string
}

// NewPlan puts the hosts on which something will change into batches, in their order.
func NewPlan(rules Rules, hosts []Host, o Options) *Plan {
	p := &Plan{Rules: rules, Hosts: hosts, at: map[string]int{}}
	sizes := map[string]int{}
	var rest []string
	for i, h := range hosts {
		p.at[h.Name] = i
		sizes[h.Group]++
		if h.Changes && !h.Unreachable && !h.Failed && (!h.Broken || o.IncludeBroken || o.Again[h.Name]) {
			rest = append(rest, h.Name)
		}
	}
	if rules.MaxUnavailable != nil {
		p.places = map[string]int{}
		for group, size := range sizes {
			p.places[group] = rules.MaxUnavailable.Down(size)
		}
	}
	if len(o.Begun) > 0 {
		p.Batches, p.whole = again(o.Begun, rest)
	} else {
		p.Batches = cut(rules.Batches, rest, o.Canary)
		p.whole = p.Batches
	}
	p.Canary = o.Canary != "" && len(p.Batches) > 0 && slices.Equal(p.Batches[0], []string{o.Canary})
	if o.Canary != "" && !p.Canary && len(o.Begun) == 0 && len(p.Batches) > 0 {
		p.NoCanary, p.Sick = p.withoutCanary(o.Canary)
	}
	return p
}

// withoutCanary returns why a host is in no batch.
func (p *Plan) withoutCanary(name string) (why string, sick bool) {
	switch h := p.Host(name); {
	case h.Unreachable:
		return name + " cannot be reached", true
	case h.Failed:
		return name + " failed when it looked for changes", true
	case h.Broken:
		return name + " was not healthy before", true
	}
	return "nothing will change on " + name, false
}

// cut divides hosts into batches of some sizes, after a batch with the canary if it is among them.
func cut(sizes []Amount, hosts []string, canary string) (batches [][]string) {
	all := len(hosts)
	if i := slices.Index(hosts, canary); i >= 0 {
		batches, hosts = [][]string{{canary}}, slices.Delete(slices.Clone(hosts), i, i+1)
	}
	for i := 0; len(hosts) > 0; i++ {
		n := len(hosts)
		if len(sizes) > 0 {
			if size := sizes[min(i, len(sizes)-1)]; !size.Rest {
				n = min(n, size.Up(all))
			}
		}
		batches, hosts = append(batches, hosts[:n:n]), hosts[n:]
	}
	return batches
}

// again returns the batches of an earlier run, reduced to the hosts that still have to be changed, and complete. Hosts
// outside of these batches are added to the last batch.
func again(begun [][]string, hosts []string) (batches, whole [][]string) {
	remain, known := map[string]bool{}, map[string]bool{}
	for _, name := range hosts {
		remain[name] = true
	}
	for _, batch := range begun {
		var left []string
		for _, name := range batch {
			if remain[name] && !known[name] {
				left = append(left, name)
			}
			known[name] = true
		}
		batches, whole = append(batches, left), append(whole, slices.Clone(batch))
	}
	last := len(begun) - 1
	for _, name := range hosts {
		if !known[name] {
			batches[last], whole[last] = append(batches[last], name), append(whole[last], name)
		}
	}
	return batches, whole
}

// Host returns a host by its name, which must be in the plan.
func (p *Plan) Host(name string) *Host { return &p.Hosts[p.at[name]] }

// Has reports whether a host is one of the plan.
func (p *Plan) Has(name string) bool {
	_, ok := p.at[name]
	return ok
}

// size returns how many hosts are in batches.
func (p *Plan) size() int {
	n := 0
	for _, batch := range p.Batches {
		n += len(batch)
	}
	return n
}

// AtOnce returns how many hosts of a batch may be in progress at once, with that many forks.
func (p *Plan) AtOnce(batch []string, forks int) int {
	if p.places == nil {
		return min(len(batch), forks)
	}
	of := map[string]int{}
	for _, name := range batch {
		h := p.Host(name)
		of[h.Group] = min(of[h.Group]+1, p.places[h.Group])
	}
	n := 0
	for _, at := range of {
		n += at
	}
	return min(n, forks)
}

// Harm returns the maximum number of hosts that can fail before the rollout stops by itself, and the calculation: the
// number that the limit allows, plus the hosts in progress when it is reached.
func (p *Plan) Harm(forks int) (most int, text string) {
	atOnce := 0
	for _, batch := range p.Batches {
		atOnce = max(atOnce, p.AtOnce(batch, forks))
	}
	hosts := max(1, len(p.Hosts))
	below := min(hosts, p.Rules.Stop.failed().Down(hosts)) - 1
	limits := fmt.Sprintf("%d may fail without a stop (stop.failed: %s)", below, p.Rules.Stop.failed())
	if u := p.Rules.Stop.Unreachable; u != nil {
		n := min(hosts, u.Down(hosts)) - 1
		below += n
		limits += fmt.Sprintf(", %d may be unreachable without a stop (stop.unreachable: %s)", n, u)
	}
	most = min(p.size(), below+atOnce)
	return most, fmt.Sprintf("%d of %d hosts fail before the rollout stops: %s, plus %d in progress at the same time", most, p.size(), limits, atOnce)
}

// failed is the limit of hosts that fail: one if none is written.
func (l *Limits) failed() Amount { return or(l.Failed, Amount{Count: 1}) }

func or(a *Amount, without Amount) Amount {
	if a == nil {
		return without
	}
	return *a
}

// Trouble returns the hosts with problems before the rollout, by kind of problem.
func (p *Plan) Trouble() (unreachable, failed, broken []string) {
	for i := range p.Hosts {
		switch h := &p.Hosts[i]; {
		case h.Unreachable:
			unreachable = append(unreachable, h.Name)
		case h.Failed:
			failed = append(failed, h.Name)
		case h.Broken:
			broken = append(broken, h.Name)
		}
	}
	return unreachable, failed, broken
}

// LeftOut are the hosts that something would change on, and that are in no batch since they were not
// healthy before.
func (p *Plan) LeftOut() []string {
	var list []string
	for i := range p.Hosts {
		if h := &p.Hosts[i]; h.Broken && h.Changes && !slices.ContainsFunc(p.Batches, func(batch []string) bool { return slices.Contains(batch, h.Name) }) {
			list = append(list, h.Name)
		}
	}
	return list
}

// Stable are the hosts on which nothing will change.
func (p *Plan) Stable() []string {
	var list []string
	for i := range p.Hosts {
		if h := &p.Hosts[i]; h.Healthy() && !h.Failed && !h.Changes && !h.Done {
			list = append(list, h.Name)
		}
	}
	return list
}

// A Restart is a resource that will be restarted in a batch.
type Restart struct {
	Ref             string
	Certain, Likely int // numbers of hosts
}

// Restarting returns the resources that will be restarted in a batch, sorted by name.
func (p *Plan) Restarting(batch []string) []Restart {
	var list []Restart
	at := func(ref string) *Restart {
		i, found := slices.BinarySearchFunc(list, ref, func(r Restart, ref string) int { return cmp.Compare(r.Ref, ref) })
		if !found {
			list = slices.Insert(list, i, Restart{Ref: ref})
		}
		return &list[i]
	}
	for _, name := range batch {
		for _, ref := range p.Host(name).Restarts {
			at(ref).Certain++
		}
		for _, ref := range p.Host(name).LikelyRestarts {
			at(ref).Likely++
		}
	}
	return list
}

// List is some names as a sentence has them: not more than ten.
func List(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

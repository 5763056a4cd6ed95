package outcomes

import (
	"encoding/json"
	"slices"
)

// Shrink tries smaller cases for as long as more reports true, and returns the smallest one that breaks one of the same
// rules, with what came of it. try runs a case.
func Shrink(o *Outcome, found []Violation, more func() bool, try func(*Case) (*Outcome, []Violation)) (*Outcome, []Violation) {
	rules := map[string]bool{}
	for _, v := range found {
		rules[v.Rule] = true
	}
	for smaller := true; smaller; {
		smaller = false
		for _, c := range reductions(o.Case) {
			if !more() {
				return o, found
			}
			got, broken := try(c)
			if got != nil && slices.ContainsFunc(broken, func(v Violation) bool { return rules[v.Rule] }) {
				o, found, smaller = got, broken, true
				break
			}
		}
	}
	return o, found
}

// reductions returns cases that lack one thing of a case, the largest things first.
func reductions(c *Case) (all []*Case) {
	// reduce adds the case that change makes of a copy.
	reduce := func(change func(*Case)) {
		text, err := json.Marshal(c)
		if err != nil {
			return
		}
		smaller := &Case{}
		if json.Unmarshal(text, smaller) == nil {
			change(smaller)
			smaller.mend()
			all = append(all, smaller)
		}
	}
	for n := range c.Plays {
		if len(c.Plays) > 1 {
			reduce(func(c *Case) { c.Plays = slices.Delete(c.Plays, n, n+1) })
		}
	}
	for n := 1; n < len(c.Calls); n++ {
		reduce(func(c *Case) { c.Calls = slices.Delete(c.Calls, n, n+1) })
	}
	for n := range c.Plays {
		for i := range c.Plays[n].Items {
			if len(c.Plays[n].Items) > 1 {
				reduce(func(c *Case) { c.Plays[n].Items = slices.Delete(c.Plays[n].Items, i, i+1) })
			}
		}
	}
	for n := range c.Calls {
		for i := range c.Calls[n].Faults {
			reduce(func(c *Case) { c.Calls[n].Faults = slices.Delete(c.Calls[n].Faults, i, i+1) })
		}
	}
	if n := len(c.Hosts); n > 1 {
		reduce(func(c *Case) { c.Hosts = c.Hosts[:n-1] })
	}
	return all
}

// mend removes what refers to what is gone.
func (c *Case) mend() {
	gone := func(host string) bool { return !slices.Contains(c.Hosts, host) }
	for n := range c.Plays {
		c.Plays[n].Hosts = slices.DeleteFunc(c.Plays[n].Hosts, gone)
	}
	c.Plays = slices.DeleteFunc(c.Plays, func(p Play) bool { return len(p.Hosts) == 0 || len(p.Items) == 0 })
	for n := range c.Calls {
		c.Calls[n].Faults = slices.DeleteFunc(c.Calls[n].Faults, func(f Fault) bool { return gone(f.Host) })
	}
	there := map[string]bool{}
	for _, r := range c.resources() {
		there[r.Name] = true
	}
	for _, r := range c.resources() {
		r.Require = slices.DeleteFunc(r.Require, func(name string) bool { return !there[name] })
		if !there[r.Subscribe] {
			r.Subscribe, r.RefreshOnly = "", false
		}
		if !there[r.Uses] {
			r.Uses = ""
		}
		if r.On != "" && r.On != Controller && gone(r.On) {
			r.On = ""
		}
	}
}

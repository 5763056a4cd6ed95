package events

import "maps"

// without returns the summary without the results of apply resources. They repeat the results of the child manifest, so
// one failure would count as two. If only the apply itself failed on a host, its result is kept.
func (s Summary) without(applies Summary) Summary {
	s.Hosts = maps.Clone(s.Hosts)
	s.Totals.Resources.Uncertain -= applies.Totals.Resources.Uncertain
	s.Totals.Resources.Likely -= applies.Totals.Resources.Likely
	for name, h := range s.Hosts {
		a := applies.Hosts[name].Counts
		if a.Failed > 0 && a.Failed == h.Failed {
			a.Failed--
		}
		if a.Rescued > 0 && a.Rescued == h.Rescued {
			a.Rescued--
		}
		a.FailedChanged = min(a.FailedChanged, a.Failed+a.Rescued)
		a.NotReached = 0
		h.Counts = h.Counts.minus(a)
		s.Hosts[name] = h
		s.Totals.Resources.Counts = s.Totals.Resources.Counts.minus(a)
	}
	return s
}

func (c Counts) minus(other Counts) Counts {
	c.Stable -= other.Stable
	c.Changed -= other.Changed
	c.Skipped -= other.Skipped
	c.Failed -= other.Failed
	c.WouldChange -= other.WouldChange
	c.FailedChanged -= other.FailedChanged
	c.NotReached -= other.NotReached
	c.Drift -= other.Drift
	c.WouldFail -= other.WouldFail
	c.Unknown -= other.Unknown
	c.Rescued -= other.Rescued
	return c
}

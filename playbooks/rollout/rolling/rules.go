package rolling

import (
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// rulesOf returns the rules of a rollout, for people.
func rulesOf(r *manifest.Rollout) []string {
	var list []string
	add := func(key, value string) { list = append(list, key+": "+value) }
	if r.MaxUnavailable != nil {
		value := r.MaxUnavailable.String()
		if r.By != "" {
			value += " of each " + r.By
		}
		add("max_unavailable", value)
	}
	if r.Soak > 0 {
		add("soak", printable.Duration(r.Soak))
	}
	if r.HostDeadline > 0 {
		add("host_deadline", printable.Duration(r.HostDeadline))
	}
	if r.ProgressDeadline > 0 {
		add("progress_deadline", printable.Duration(r.ProgressDeadline))
	}
	for _, g := range r.Gates {
		add("gate", g.Name)
	}
	stop := func(prefix string, l *rollout.Limits, failed bool) {
		for _, one := range []struct {
			key    string
			amount *rollout.Amount
		}{{"failed", l.Failed}, {"unreachable", l.Unreachable}, {"gate", l.Gate}, {"restarts", l.Restarts}} {
			switch {
			case one.amount != nil:
				add(prefix+one.key, one.amount.String())
			case failed && one.key == "failed":
				add(prefix+one.key, "1")
			}
		}
	}
	stop("stop.", &r.Stop, true)
	stop("stop.per_batch.", &r.PerBatch, false)
	add("on_stop", string(r.OnStop))
	switch {
	case r.PauseDeadline > 0:
		add("pause", printable.Duration(r.PauseDeadline))
	case r.Pause:
		add("pause", "true")
	}
	return list
}

package report

import (
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// maxStops is how many stops of rollouts are shown: those that came last.
const maxStops = 5

// stopped notes why a rollout did not go on by itself.
func (r *Run) stopped(e events.RolloutStop) {
	where := ""
	if e.Batch > 0 {
		where = fmt.Sprintf(" in batch %d", e.Batch)
	}
	r.stops = append(r.stops, fmt.Sprintf("%s stopped%s by %s: %s; not started: %s", e.Play, where, e.Rule, e.Text, count(e.Waiting, "host")))
	r.stops = r.stops[max(0, len(r.stops)-maxStops):]
}

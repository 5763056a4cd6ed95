package report

import (
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// maxStops bounds the shown stops of rollouts: the last ones.
const maxStops = 5

// stopped adds the reason why a rollout stopped.
func (r *Run) stopped(e events.RolloutStop) {
	where := ""
	if e.Batch > 0 {
		where = fmt.Sprintf(" in batch %d", e.Batch)
	}
	r.stops = append(r.stops, fmt.Sprintf("%s stopped%s by %s: %s; not started: %s", e.Play, where, e.Rule, e.Text, count(e.Waiting, "host")))
	r.stops = r.stops[max(0, len(r.stops)-maxStops):]
}

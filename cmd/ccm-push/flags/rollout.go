package flags

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks"
)

// Rollout holds the flags about rollouts.
type Rollout struct {
	File          string // replaces the rollouts of the plays
	Canary        string
	IncludeBroken bool
	Yes           bool
	Hold          time.Duration
}

func (f *Rollout) register(set *pflag.FlagSet) {
	set.StringVar(&f.File, "rollout", "", "`file` with batches and limits; they replace the rollouts of the plays")
	set.StringVar(&f.Canary, "canary", "", "run each rollout on this `host` first, then prompt before the other hosts")
	set.BoolVar(&f.IncludeBroken, "include-broken", false, "include hosts that were unhealthy before the rollout")
	set.Var(Seconds{&f.Hold}, "hold", "without a terminal: how long a stopped rollout waits for the command 'ccm-push rollout go' (default: the run ends at once)")
	set.BoolVar(&f.Yes, "yes", false, "do not prompt between batches of a rollout and before an undo")
}

// Into sets the options of a run.
func (f *Rollout) Into(o *playbooks.Options) {
	o.Canary, o.IncludeBroken, o.Yes, o.Hold = f.Canary, f.IncludeBroken, f.Yes, f.Hold
}

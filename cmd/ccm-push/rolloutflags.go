package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks"
)

// rolloutFlags say how plays come over their hosts.
type rolloutFlags struct {
	file          string // in place of what the plays say
	canary        string
	includeBroken bool
	yes           bool
	hold          time.Duration

	set *pflag.FlagSet // to ask which are given
}

func (f *rolloutFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.file, "rollout", "", "`file` with batches and limits; they replace the rollouts of the plays")
	set.StringVar(&f.canary, "canary", "", "run each rollout on this `host` first, then prompt before the other hosts")
	set.BoolVar(&f.includeBroken, "include-broken", false, "include hosts that were unhealthy before the rollout")
	set.Var(seconds{&f.hold}, "hold", "without a terminal: time that a held rollout waits for ccm-push rollout go")
	set.BoolVar(&f.yes, "yes", false, "do not prompt: between batches of a rollout, and before an undo")
}

func (f *rolloutFlags) validate() error { return refuseEmpty(f.set, "rollout", "canary") }

// refuse reports a flag of rollouts, for a command that has none.
func (f *rolloutFlags) refuse(command string) error {
	for _, name := range []string{"rollout", "canary", "include-broken"} {
		if f.set.Changed(name) {
			return fmt.Errorf("--%s is for runs of manifests; %s has no use for it", name, command)
		}
	}
	return nil
}

// into sets what a run takes of them.
func (f *rolloutFlags) into(o *playbooks.Options) {
	o.Canary, o.IncludeBroken, o.Yes, o.Hold = f.canary, f.includeBroken, f.yes, f.hold
}

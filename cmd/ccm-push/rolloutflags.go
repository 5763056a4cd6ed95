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
	set.StringVar(&f.file, "rollout", "", "take the rollout in this `file` in place of what the plays say of batches and failures")
	set.StringVar(&f.canary, "canary", "", "begin each rollout with this `host` alone, and ask before the others")
	set.BoolVar(&f.includeBroken, "include-broken", false, "have a rollout work on hosts, too, that were not healthy before")
	set.Var(seconds{&f.hold}, "hold", "where nobody can be asked, how long a rollout that is held waits for ccm-push rollout go")
	set.BoolVar(&f.yes, "yes", false, "do not ask for confirmation, neither between the batches of a rollout nor before an undo")
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

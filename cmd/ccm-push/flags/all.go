package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/manual"
)

// All holds the values of the flags that commands share. It has no state of a run.
type All struct {
	Inventory  Inventory
	Selection  Selection
	Mode       Mode
	Detach     Detach
	Record     Record
	Session    Session
	Variables  Variables
	Secrets    Secrets
	Connection Connection
	Pace       Pace
	Work       Work
	Rollout    Rollout
	Output     Output
	NATS       NATS
	Workers    Workers
	Authority  Authority

	set *pflag.FlagSet
}

// Register registers the flags, in groups and in the order of ccm-push help flags.
func (a *All) Register(set *pflag.FlagSet) {
	a.set = set
	set.SortFlags = false
	for _, group := range []struct {
		title    string
		register []func(*pflag.FlagSet)
	}{
		{"Hosts", []func(*pflag.FlagSet){a.Inventory.register}},
		{"Resources", []func(*pflag.FlagSet){a.Selection.register}},
		{"Run", []func(*pflag.FlagSet){a.Mode.register, a.Detach.register, a.Record.register, a.Session.register}},
		{"Data", []func(*pflag.FlagSet){a.Variables.register}},
		{"Secrets", []func(*pflag.FlagSet){a.Secrets.register}},
		{"Connection", []func(*pflag.FlagSet){a.Connection.register}},
		{"Speed and deadlines", []func(*pflag.FlagSet){a.Pace.register, a.Work.register}},
		{"Rollout", []func(*pflag.FlagSet){a.Rollout.register}},
		{"Output", []func(*pflag.FlagSet){a.Output.register}},
		{"NATS", []func(*pflag.FlagSet){a.NATS.register}},
		{"Workers and relays", []func(*pflag.FlagSet){a.Workers.register, a.Authority.register}},
	} {
		for _, register := range group.register {
			register(set)
		}
		manual.GroupFlags(set, group.title)
	}
}

// Changed reports whether a flag is set on the command line.
func (a *All) Changed(name string) bool { return a.set.Changed(name) }

// Validate checks what the types of the flags cannot express. prompts reports whether a person can answer prompts.
// Without a URL of workers, Validate reads the URL from the environment.
func (a *All) Validate(getenv func(string) string, prompts bool) error {
	for _, check := range []func() error{
		a.Output.validate,
		a.Output.Reports.validate,
		func() error { return a.Pace.validate(a.Changed) },
		func() error { return a.validateStep(prompts) },
		a.Connection.validate,
		a.Authority.validate,
		func() error { return a.Workers.validate(a.Changed, getenv) },
		a.NATS.validate,
		func() error {
			return a.refuseEmpty(slices.Concat([]string{"rollout", "canary", "limit"}, selecting)...)
		},
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validateStep reports a --step that cannot prompt.
func (a *All) validateStep(prompts bool) error {
	switch {
	case !a.Mode.Step:
	case a.Mode.Check:
		return errors.New("--step prompts before changes, and --check makes none: use one of them")
	case !prompts:
		return errors.New("--step prompts on the terminal, and standard input is not a terminal")
	}
	return nil
}

// refuseEmpty reports a flag with an empty value: an unset variable of a shell must not select everything.
func (a *All) refuseEmpty(names ...string) error {
	for _, name := range names {
		if value := a.set.Lookup(name).Value.String(); a.Changed(name) && (value == "" || value == "[]") {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	return nil
}

// RefuseSelection reports a flag that selects resources, for a command that cannot select them.
func (a *All) RefuseSelection(command string) error {
	for _, name := range selecting {
		if a.Changed(name) {
			return fmt.Errorf("--%s chooses among the resources of a run; %s has no use for it", name, command)
		}
	}
	return nil
}

// RefuseRollout reports a flag about rollouts, for a command that has none.
func (a *All) RefuseRollout(command string) error {
	for _, name := range []string{"rollout", "canary", "include-broken"} {
		if a.Changed(name) {
			return fmt.Errorf("--%s is for runs of manifests; %s has no use for it", name, command)
		}
	}
	return nil
}

// CertificateTime returns the validity of certificates of workers. They are renewed while a worker needs them, so they can be
// shorter than the run.
func (a *All) CertificateTime() time.Duration {
	if a.Changed("cert-validity") {
		return a.Workers.Validity
	}
	host := cmp.Or(a.Work.Deadlines.Working().Host, defaultValidity)
	return max(min(defaultValidity, host+shortestValidity), shortestValidity)
}

package flags

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/record"
)

// Record holds the flag about the record of a run.
type Record struct{ None bool }

func (f *Record) register(set *pflag.FlagSet) {
	set.BoolVar(&f.None, "no-record", false, "do not record this run (see ccm-push runs --help)")
}

// Detach holds the flag about runs in the background.
type Detach struct{ Asked bool }

func (f *Detach) register(set *pflag.FlagSet) {
	set.BoolVar(&f.Asked, "detach", false, "continue in the background after all prompts; ccm-push attach follows the run")
}

// SessionVariable names the session of the ad-hoc calls of a script.
const SessionVariable = "CCM_PUSH_SESSION"

// Session holds the flags that relate an ad-hoc call to earlier calls of its session.
type Session struct {
	Name               string
	Require, Subscribe []string
	Alias              string
}

// ofSession are the names of the flags of a session.
var ofSession = []string{"session", "require", "subscribe", "alias"}

func (f *Session) register(set *pflag.FlagSet) {
	set.StringVar(&f.Name, "session", "", "for ad-hoc calls (without a manifest): `name` of their session; see ccm-push session")
	set.StringArrayVar(&f.Require, "require", nil, "for ad-hoc calls of a session: skip the hosts where the `resource` TYPE#NAME failed in an earlier call; may be repeated")
	set.StringArrayVar(&f.Subscribe, "subscribe", nil, "for ad-hoc calls of a session: refresh the `resource` of this call (restart a service, run a command) only on hosts where TYPE#NAME changed in an earlier call; may be repeated")
	set.StringVar(&f.Alias, "alias", "", "for ad-hoc calls of a session: second `name` of the resource; in later calls, --require and --subscribe accept this name")
}

// Relates reports whether the call refers to earlier calls.
func (f *Session) Relates() bool { return len(f.Require)+len(f.Subscribe) > 0 }

// ForCalls reads $CCM_PUSH_SESSION, and refuses the flags of a session for commands that do not use them. report means the
// command session report.
func (a *All) ForCalls(getenv func(string) string, adHoc, report bool) error {
	f := &a.Session
	if !a.Changed("session") {
		f.Name = getenv(SessionVariable)
	}
	for _, name := range ofSession {
		if a.Changed(name) && !adHoc && !(report && name == "session") {
			return fmt.Errorf("--%s is for ad-hoc calls, such as: ccm-push --%[1]s VALUE 'web*' exec true", name)
		}
	}
	if err := a.refuseEmpty(ofSession...); err != nil || f.Name == "" || !adHoc && !report {
		return err
	}
	if err := record.CheckSession(f.Name); err != nil {
		return fmt.Errorf("%s: %w", a.SessionFrom(), err)
	}
	return nil
}

// SessionFrom returns the flag or the variable that named the session.
func (a *All) SessionFrom() string {
	if a.Changed("session") {
		return "--session"
	}
	return "$" + SessionVariable
}

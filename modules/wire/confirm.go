package wire

import (
	"fmt"
	"time"
)

// Confirm says of an applying catalog that changes to how the host is reached are taken back by the
// host, unless a controller proves in time that it can still log in.
//
// Before the first such change the host asks with [Arm]; the answer is [Armed]. The catalog goes on
// then, and its [Done] says whether something awaits its confirmation. That is done over another
// connection, in a session of its own, with [Proof]. It is to be done before the next catalog of the
// run: another one is refused as if the lock was held for as long as something awaits its confirmation,
// but for the stages of one play and a catalog that comes again after a lost connection, which have
// the nonce of the first.
//
// The host waits for Within, anew each time that it hears from the controller while it works on the
// catalog, and a last time when that has ended.
type Confirm struct {
	// Mode says which entries need to be confirmed that have no [Entry.Confirm].
	Mode   ConfirmMode   `json:"mode"`
	Within time.Duration `json:"within"`         // at least [MinConfirmWithin]
	Boot   bool          `json:"boot,omitempty"` // what is still armed is taken back when the host starts again
	// Login is the user who logs in, whose account and keys count as ways to the host, and Become
	// whom the host program is run as; "" if that is the same one.
	Login  string `json:"login"`
	Become string `json:"become,omitempty"`
	// Port is that of the SSH server as the host knows it, which is to listen when a change has
	// been taken back; 0 looks for none.
	Port  int    `json:"port,omitempty"`
	Nonce string `json:"nonce"` // cannot be guessed: who knows it can confirm; letters and digits, another for each play
}

// ConfirmMode is when a change needs to be confirmed.
type ConfirmMode string

// The modes. "" is as the catalog has it.
const (
	ConfirmAuto   ConfirmMode = "auto"   // one that may touch how the host is reached
	ConfirmAlways ConfirmMode = "always" // any
	ConfirmNever  ConfirmMode = "never"  // none
)

// Bounds of a [Confirm].
const (
	MinConfirmWithin = 5 * time.Second
	MaxConfirmWithin = time.Hour
	minConfirmNonce  = 16
	maxConfirmNonce  = 64
)

// An Arm asks, before the first change that needs to be confirmed, whether a second login works now:
// else it could never be confirmed. It is asked once in a catalog, but for an answer with an error,
// after which the next such entry asks again.
type Arm struct {
	Index int    `json:"i"`
	Why   string `json:"why"` // what the entry touches: "the SSH server's configuration (/etc/ssh/sshd_config)"
	// Set reports, after an [Armed] without an error, that the host has armed itself. It has no answer.
	Set bool `json:"set,omitempty"`
}

// Armed answers an [Arm]. With an error the entry is not applied, and fails with it.
type Armed struct {
	Index int    `json:"i"`
	Error string `json:"error,omitempty"`
}

// A Proof confirms what is armed under a nonce: whoever sends it has come over a connection of its
// own. It is sent in a session without catalogs, and answered with [Confirmed]; as often as wanted.
type Proof struct {
	Nonce string `json:"nonce"`
}

// Watchdog reports that the watchdog has ended before the changes that it guards were confirmed, and that the host
// program has started another one.
type Watchdog struct {
	Error string `json:"error,omitempty"` // why no other one could be started; "" if one runs
}

// Confirmed answers a [Proof].
type Confirmed struct {
	Nonce string       `json:"nonce"`
	State ConfirmState `json:"state"`
	Error string       `json:"error,omitempty"` // why the state is not known, or could not be changed
	// Reverted is what was taken back, once that has ended.
	Reverted *Reverted `json:"reverted,omitempty"`
}

// ConfirmState is what has become of an armed change. There is one verdict, which stays.
type ConfirmState string

// The states. Reverting becomes Reverted soon, so one asks again.
const (
	StateConfirmed ConfirmState = "confirmed" // the change stays
	StateReverting ConfirmState = "reverting" // the proof came too late, and the change is being taken back
	StateReverted  ConfirmState = "reverted"
	StateUnknown   ConfirmState = "unknown" // nothing is armed under the nonce
)

// Reverted is what a host has taken back since nobody confirmed it. It tells that before the results
// of each catalog, also of a check run, until a controller has acknowledged it with an [Ack] that
// says Reverted.
type Reverted struct {
	Run     string         `json:"run"` // whose changes these were
	Play    int            `json:"play"`
	Holder  string         `json:"holder"`            // who ran it, and where
	At      time.Time      `json:"at"`                // when it had been taken back
	Why     string         `json:"why"`               // "nobody confirmed it within 1m0s"
	Results []UntoldResult `json:"results,omitempty"` // changed is taken back; with those that failed or were skipped
	More    int            `json:"more,omitempty"`    // results that are not among those
	Error   string         `json:"error,omitempty"`   // what else is wrong now: the SSH server's configuration, its port
}

func (c *Confirm) validate() error {
	if c == nil {
		return nil
	}
	switch {
	case c.Mode != ConfirmAuto && c.Mode != ConfirmAlways && c.Mode != ConfirmNever:
		return fmt.Errorf("the mode of confirmation is unknown: %.64q", c.Mode)
	case c.Within < MinConfirmWithin || c.Within > MaxConfirmWithin:
		return fmt.Errorf("the time for confirmation is %v, but must be %v to %v", c.Within, MinConfirmWithin, MaxConfirmWithin)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("there is no port %d", c.Port)
	}
	return checkConfirmNonce(c.Nonce)
}

// checkConfirmNonce refuses what could not be part of a file's name.
func checkConfirmNonce(nonce string) error {
	good := len(nonce) >= minConfirmNonce && len(nonce) <= maxConfirmNonce
	for _, r := range nonce {
		good = good && ('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
	}
	if !good {
		return fmt.Errorf("a nonce of %d bytes is not %d to %d letters and digits", len(nonce), minConfirmNonce, maxConfirmNonce)
	}
	return nil
}

func (p *Proof) validate() error {
	if p == nil {
		return nil
	}
	return checkConfirmNonce(p.Nonce)
}

func (a *Arm) validate() error {
	if a != nil && (a.Index < 0 || len(a.Why) > MaxUntoldText) {
		return fmt.Errorf("a question for a second login is out of bounds")
	}
	return nil
}

func (w *Watchdog) validate() error {
	if w != nil && len(w.Error) > MaxUntoldText {
		return fmt.Errorf("why a watchdog could not be started is out of bounds")
	}
	return nil
}

func (c *Confirmed) validate() error {
	if c == nil {
		return nil
	}
	switch c.State {
	case StateConfirmed, StateReverting, StateReverted, StateUnknown:
	default:
		return fmt.Errorf("a change is %.64q", c.State)
	}
	if len(c.Nonce) > maxConfirmNonce || len(c.Error) > MaxUntoldText {
		return fmt.Errorf("the report of a change is out of bounds")
	}
	return c.Reverted.validate()
}

func (r *Reverted) validate() error {
	if r == nil {
		return nil
	}
	if len(r.Results) > MaxUntold || r.More < 0 {
		return fmt.Errorf("the report of a reverted change is out of bounds")
	}
	for _, text := range []string{r.Run, r.Holder, r.Why, r.Error} {
		if len(text) > MaxUntoldText {
			return fmt.Errorf("the report of a reverted change has a text of %d bytes", len(text))
		}
	}
	for _, one := range r.Results {
		if err := one.validate(); err != nil {
			return err
		}
		if s := one.Status; s != Changed && s != Skipped && !s.HasFailed() {
			return fmt.Errorf("the report of a reverted change has the status %.64q", s)
		}
	}
	return nil
}

package wire

import (
	"fmt"
	"time"
)

// Confirm makes the host revert changes of an applying catalog that may affect how the host is reached, unless a
// controller proves in time that it can still log in.
//
// Before the first such change the host sends an [Arm]; the answer is [Armed]. The catalog then continues, and its
// [Done] reports whether a change awaits its confirmation. The controller confirms it with [Proof], over another
// connection and in a session of its own, before the next catalog of the run. Until then the host refuses other
// catalogs as if the lock was held. Exceptions are the stages of one play and a catalog that comes again after a lost
// connection, which have the nonce of the first.
//
// The deadline is Within from now. It moves each time that the host receives a message from the controller during the
// catalog, and a last time when the catalog has ended.
type Confirm struct {
	// Mode decides which entries without an [Entry.Confirm] need to be confirmed.
	Mode   ConfirmMode   `json:"mode"`
	Within time.Duration `json:"within"`         // at least [MinConfirmWithin]
	Boot   bool          `json:"boot,omitempty"` // the host reverts an armed change when it starts again
	// Login is the user who logs in, whose account and keys count as ways to the host, and Become
	// whom the host program is run as; "" if that is the same one.
	Login  string `json:"login"`
	Become string `json:"become,omitempty"`
	// Port is the port of the SSH server on the host, which must listen after a revert; 0 disables the test.
	Port  int    `json:"port,omitempty"`
	Nonce string `json:"nonce"` // random: anyone with the nonce can confirm; letters and digits, new for each play
}

// ConfirmMode decides when a change needs to be confirmed.
type ConfirmMode string

// Modes. The empty one means the mode of the catalog.
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

// An Arm requests a second login before the first change that needs to be confirmed: if that does not work now, the
// change could never be confirmed. It is sent once in a catalog; after an answer with an error, the next such entry
// sends it again.
type Arm struct {
	Index int    `json:"i"`
	Why   string `json:"why"` // part that the entry affects: "the SSH server's configuration (/etc/ssh/sshd_config)"
	// Set reports, after an [Armed] without an error, that the host has armed itself. It has no answer.
	Set bool `json:"set,omitempty"`
}

// Armed answers an [Arm]. With an error the entry is not applied, and fails with it.
type Armed struct {
	Index int    `json:"i"`
	Error string `json:"error,omitempty"`
}

// A Proof confirms the changes that are armed under a nonce: its sender has made a connection of its own. It is sent in
// a session without catalogs, any number of times, and answered with [Confirmed].
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
	// Reverted describes the reverted changes, once the revert has ended.
	Reverted *Reverted `json:"reverted,omitempty"`
}

// ConfirmState is the outcome of an armed change. There is one verdict, which does not change.
type ConfirmState string

// States. Reverting becomes Reverted soon, so the controller sends its Proof again.
const (
	StateConfirmed ConfirmState = "confirmed" // the change stays
	StateReverting ConfirmState = "reverting" // the proof came too late, and the change is being taken back
	StateReverted  ConfirmState = "reverted"
	StateUnknown   ConfirmState = "unknown" // nothing is armed under the nonce
)

// Reverted describes unconfirmed changes that a host has reverted. The host reports it before the results of each
// catalog, also of a check run, until a controller acknowledges it with an [Ack] with Reverted.
type Reverted struct {
	Run     string         `json:"run"` // run of the changes
	Play    int            `json:"play"`
	Holder  string         `json:"holder"`            // operator and machine
	At      time.Time      `json:"at"`                // when it had been taken back
	Why     string         `json:"why"`               // reason: "no login confirmed the change within 1m0s"
	Results []UntoldResult `json:"results,omitempty"` // the status changed means reverted; failed and skipped ones are included
	More    int            `json:"more,omitempty"`    // results that are not among those
	Error   string         `json:"error,omitempty"`   // other faults now: the SSH server's configuration, its port
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
		return fmt.Errorf("port %d is outside 0-65535", c.Port)
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

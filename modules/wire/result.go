package wire

import (
	"encoding/json"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Status is the outcome of a resource.
type Status string

// RunInterrupted ends the error of a resource that was killed, for whatever reason: the host program does not know the
// reason.
const RunInterrupted = "the run was interrupted"

// Statuses. Messages omit Stable.
const (
	Stable  Status = "stable"
	Changed Status = "changed"
	Skipped Status = "skipped"
	Failed  Status = "failed"
	Rescued Status = "rescued" // failed in a block that has a rescue, which runs now
)

// HasFailed reports whether the resource has failed, rescued or not.
func (s Status) HasFailed() bool { return s == Failed || s == Rescued }

// Cause is why a resource is changed.
type Cause string

// Causes. A change has none if the host program does not know it.
const (
	Intent   Cause = "intent"   // the manifest has a new desired state, or wants a change each time
	Drift    Cause = "drift"    // the host has changed since a run left the resource in its desired state
	Notified Cause = "notified" // a subscription alone
	Undone   Cause = "undo"     // a run is taken back
)

// A SkipReason is a code for why an entry was skipped.
type SkipReason string

// The reasons.
const (
	SkippedByControl     SkipReason = "control"            // control excludes it
	SkippedHidden        SkipReason = "hidden"             // defined, but does not run
	SkippedRequirement   SkipReason = "requirement_failed" // a resource that it requires failed or was skipped
	SkippedPlayEnded     SkipReason = "play_ended"         // an earlier failure ended its manifest
	SkippedBlockEnded    SkipReason = "block_ended"        // an earlier failure ended its block
	SkippedRescue        SkipReason = "rescue_not_needed"  // its block has not failed
	SkippedNotSelected   SkipReason = "not_selected"       // the run does not select it, and a refresh of it is due
	SkippedNotRestorable SkipReason = "not_restorable"     // nothing is kept that could be restored
	SkippedByType        SkipReason = "not_needed"         // its type has nothing to do
)

// SkipReasons returns all reasons.
func SkipReasons() []SkipReason {
	return []SkipReason{
		SkippedByControl, SkippedHidden, SkippedRequirement, SkippedPlayEnded, SkippedBlockEnded, SkippedRescue,
		SkippedNotSelected, SkippedNotRestorable, SkippedByType,
	}
}

// A Result is the outcome of one entry. A stable one is little more than its index.
type Result struct {
	Index       int              `json:"i"`
	Status      Status           `json:"status,omitempty"` // "" is Stable
	Check       bool             `json:"check,omitempty"`  // nothing was done
	Cause       Cause            `json:"cause,omitempty"`  // cause of a change, whether or not it succeeded
	Refreshed   bool             `json:"refreshed,omitempty"`
	RefreshedBy []string         `json:"refreshed_by,omitempty"` // the resources whose change that followed, as [Entry.Ref] has them
	Grade       modules.Grade    `json:"grade,omitempty"`        // grade of a prediction
	Because     string           `json:"because,omitempty"`      // earlier resource that may make it wrong, or cause of the skip
	WouldFail   bool             `json:"would_fail,omitempty"`   // a predicted change that is a failure, unless Because removes its cause
	Reason      SkipReason       `json:"reason,omitempty"`       // reason of the skip
	Message     string           `json:"message,omitempty"`      // actual or predicted change, or the reason for no change
	Messages    []modules.Note   `json:"messages,omitempty"`
	Error       string           `json:"error,omitempty"` // set when failed
	Done        bool             `json:"done,omitempty"`  // failed after Message had been done: on a health check
	Changes     []modules.Change `json:"changes,omitempty"`
	Diff        string           `json:"diff,omitempty"`
	Exit        *modules.Exit    `json:"exit,omitempty"` // outcome of a command
	Duration    time.Duration    `json:"ns,omitempty"`

	Health []HealthVerdict `json:"health,omitempty"` // verdicts of the entry's health checks

	State     *modules.State             `json:"state,omitempty"`
	ErrorKind modules.ErrorKind          `json:"error_kind,omitempty"` // kind of Error, if it is known
	Sent      map[string]json.RawMessage `json:"sent,omitempty"`       // values that the entry exports
	Tries     int                        `json:"tries,omitempty"`      // if it took more than one
	Kept      bool                       `json:"kept,omitempty"`       // from an earlier session of this run, or from a run that it resumes
	Earlier   bool                       `json:"earlier,omitempty"`    // kept, and from a run that this one resumes
	Killed    bool                       `json:"killed,omitempty"`     // failed because the controller had it killed
	// Unknown is set on a failed result if a command of the entry began and its end was not seen.
	Unknown bool `json:"unknown,omitempty"`
	Unmet   bool `json:"unmet,omitempty"` // skipped because something else went wrong
	// Overdue is set by the controller if it had the entry killed for its deadline.
	Overdue bool `json:"-"`
	// Fetched reports that a file has been sent, or would be in a check run: see [Entry.Fetch].
	Fetched bool `json:"fetched,omitempty"`
	// Registered has the withheld parts of the result of a sensitive entry with [Entry.Register]. No host keeps it.
	Registered *Registered `json:"registered,omitempty"`
}

// WentWrong reports whether the resource failed, rescued or not, or was skipped because something else did.
// CCM calls both failed. Requirements, the results of manifests and blocks, rescues, what refreshes are due
// and predictions all use this function.
func (r *Result) WentWrong() bool { return r.Status.HasFailed() || r.Unmet }

// Registered is for the controller alone.
type Registered struct {
	Exit  *modules.Exit  `json:"exit,omitempty"`
	State *modules.State `json:"state,omitempty"`
}

// Health is an answer to a [HealthCheck].
type Health string

// The answers of health checks, in the words of Nagios.
const (
	HealthOK       Health = "OK"
	HealthWarning  Health = "WARNING"
	HealthCritical Health = "CRITICAL"
	HealthUnknown  Health = "UNKNOWN"
)

// A HealthVerdict is the outcome of a health check. The verdicts of a result are in the order of the entry's checks.
type HealthVerdict struct {
	Status Health `json:"status"`
	Tries  int    `json:"tries"`            // number of tries
	Output string `json:"output,omitempty"` // output of the last try
}

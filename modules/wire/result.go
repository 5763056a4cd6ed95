package wire

import (
	"encoding/json"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Status is how a resource ended.
type Status string

// RunInterrupted ends the error of a resource that was killed, whatever for: the host
// program is not told why.
const RunInterrupted = "the run was interrupted"

// The statuses. The wire leaves Stable out.
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

// The causes. What host programs tell of a change that they do not know the cause of has
// none.
const (
	Intent   Cause = "intent"   // the manifest asks for something else than the last time, or for a change each time
	Drift    Cause = "drift"    // the host has changed since a run left the resource as the manifest asks for it
	Notified Cause = "notified" // a subscription alone
	Undone   Cause = "undo"     // a run is taken back
)

// A SkipReason is a code for why an entry was skipped.
type SkipReason string

// The reasons.
const (
	SkippedByControl     SkipReason = "control"            // control excludes it
	SkippedHidden        SkipReason = "hidden"             // it is defined, and not run
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

// A Result is how one entry ended. A stable one is little more than its index.
type Result struct {
	Index       int              `json:"i"`
	Status      Status           `json:"status,omitempty"` // "" is Stable
	Check       bool             `json:"check,omitempty"`  // nothing was done
	Cause       Cause            `json:"cause,omitempty"`  // of a change, whether or not it succeeded
	Refreshed   bool             `json:"refreshed,omitempty"`
	RefreshedBy []string         `json:"refreshed_by,omitempty"` // the resources whose change that followed, as [Entry.Ref] has them
	Uncertain   bool             `json:"uncertain,omitempty"`    // a prediction that an earlier resource may make wrong
	Because     string           `json:"because,omitempty"`      // that resource; or what it was skipped for
	Reason      SkipReason       `json:"reason,omitempty"`       // of a skipped one
	Message     string           `json:"message,omitempty"`      // what was or would be done, or why nothing was
	Messages    []modules.Note   `json:"messages,omitempty"`
	Error       string           `json:"error,omitempty"` // set when failed
	Done        bool             `json:"done,omitempty"`  // failed after Message had been done: on a health check
	Changes     []modules.Change `json:"changes,omitempty"`
	Diff        string           `json:"diff,omitempty"`
	Exit        *modules.Exit    `json:"exit,omitempty"` // of a resource that is a command
	Duration    time.Duration    `json:"ns,omitempty"`

	Health []HealthVerdict `json:"health,omitempty"` // of the entry's health checks

	State     *modules.State             `json:"state,omitempty"`
	ErrorKind modules.ErrorKind          `json:"error_kind,omitempty"` // of Error, if that is known
	Sent      map[string]json.RawMessage `json:"sent,omitempty"`       // what the entry exports
	Tries     int                        `json:"tries,omitempty"`      // if it took more than one
	Kept      bool                       `json:"kept,omitempty"`       // from an earlier session of this run, or from a run that it resumes
	Earlier   bool                       `json:"earlier,omitempty"`    // kept, and from a run that this one resumes
	Killed    bool                       `json:"killed,omitempty"`     // failed when it was told to kill what runs
	// Unknown is set on a failed result if a command of the entry began and its end was not seen.
	Unknown bool `json:"unknown,omitempty"`
	Unmet   bool `json:"unmet,omitempty"` // skipped because something else went wrong
	// Overdue is set by the controller if the host was told to kill the entry for its deadline.
	Overdue bool `json:"-"`
	// Fetched says that a file has been handed over, or in a check run would be: see [Entry.Fetch].
	Fetched bool `json:"fetched,omitempty"`
	// Registered is what is withheld from the result of a sensitive entry that has
	// [Entry.Register]. No host keeps it.
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

// A HealthVerdict is what came of a health check. Those of a result stand in the
// order of the entry's checks.
type HealthVerdict struct {
	Status Health `json:"status"`
	Tries  int    `json:"tries"`            // that it took
	Output string `json:"output,omitempty"` // of the last one
}

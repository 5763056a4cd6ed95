package wire

import (
	"fmt"
	"time"
)

// Untold has changes and failures of an earlier run on the host that were not reported. The host keeps it until a
// controller has acknowledged it.
type Untold struct {
	Run     string         `json:"run"`
	Play    int            `json:"play"`
	For     string         `json:"for,omitempty"` // as [Once].For
	Holder  string         `json:"holder"`        // operator and machine
	Since   time.Time      `json:"since"`         // when it began
	Results []UntoldResult `json:"results"`
	More    int            `json:"more,omitempty"` // results that are not among those
}

// An UntoldResult is the outcome of a resource that changed or failed.
type UntoldResult struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	Unknown bool   `json:"unknown,omitempty"` // as [Result].Unknown
}

// An Ack acknowledges the results of a catalog, or its untold results.
type Ack struct {
	Run  string `json:"run"`
	Play int    `json:"play"`
	For  string `json:"for,omitempty"` // as [Once].For
	// Reverted makes it acknowledge the [Reverted] of that catalog, and not its results.
	Reverted bool `json:"reverted,omitempty"`
}

// Bounds of an [Untold].
const (
	MaxUntold         = 200     // results
	MaxUntoldText     = 1 << 10 // bytes of each text
	MaxUntoldCatalogs = 20      // number in the report of one catalog; further ones come with the next
)

func (u *Untold) validate() error {
	if u == nil {
		return nil
	}
	if len(u.Results) > MaxUntold || u.More < 0 || len(u.Run) > MaxUntoldText || len(u.For) > MaxUntoldText || len(u.Holder) > MaxUntoldText {
		return fmt.Errorf("a result of an earlier run is out of bounds")
	}
	for _, r := range u.Results {
		if err := r.validate(); err != nil {
			return err
		}
		if r.Status != Changed && !r.Status.HasFailed() {
			return fmt.Errorf("a result of an earlier run has the status %.64q", r.Status)
		}
		if r.Unknown && !r.Status.HasFailed() {
			return fmt.Errorf("an earlier run has an unknown outcome with the status %.64q", r.Status)
		}
	}
	return nil
}

func (r *UntoldResult) validate() error {
	for _, text := range []string{r.Type, r.Name, r.Message, r.Error} {
		if len(text) > MaxUntoldText {
			return fmt.Errorf("a result of an earlier run has a text of %d bytes", len(text))
		}
	}
	return nil
}

package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rules are the written settings of a rollout.
type Rules struct {
	// Batches are sizes: counts, or shares of the hosts that will change, rounded up. The last
	// one repeats. None is one batch of all.
	Batches []Amount
	// By is the inventory variable that groups hosts: hosts with the same value can replace each other. If it is empty,
	// all hosts are one group.
	By string
	// MaxUnavailable is how many hosts with the same value of By may be unavailable at once: a count, or a share of the
	// play's hosts with that value, rounded down. nil means no limit.
	MaxUnavailable *Amount
	// Soak is how long health checks must succeed without a break before a host counts as done.
	Soak time.Duration
	// HostDeadline bounds a host, from its drain to the end of its soak; 0 does not.
	HostDeadline time.Duration
	// ProgressDeadline is the time without a finished host after which the rollout stops; 0 means never.
	ProgressDeadline time.Duration
	// Stop has the limits of the whole rollout, PerBatch the limits of each batch.
	Stop, PerBatch Limits
	OnStop         OnStop
	// Pause is set if the operator is prompted between batches. PauseDeadline bounds the prompt; 0 means no limit.
	Pause         bool
	PauseDeadline time.Duration
}

// Limits are the numbers at which a rollout stops; nil means no limit. A share refers to the hosts of the rollout, or
// of the batch, rounded down, at least 1.
type Limits struct {
	Failed      *Amount // failed hosts; includes unreachable ones unless Unreachable is set
	Unreachable *Amount // hosts that cannot be reached, or were lost
	Gate        *Amount // gates that were not passed
	Restarts    *Amount // hosts on which something was restarted since another resource had changed
}

// OnStop is the action when a rollout has stopped.
type OnStop string

const (
	Hold      OnStop = "hold"       // wait for a person
	End       OnStop = "end"        // end the run
	UndoBatch OnStop = "undo_batch" // undo the changes on the hosts of the batch
	UndoAll   OnStop = "undo_all"   // undo the changes on all hosts
)

// An Amount is a number of hosts, or a share of them.
type Amount struct {
	Count   int
	Percent float64 // used when Count is 0
	Rest    bool    // all remaining hosts; only in Batches
}

// Up returns the number for n hosts, a share rounded up: at least 1.
func (a Amount) Up(n int) int {
	if a.Rest {
		return max(1, n)
	}
	return a.of(n, math.Ceil)
}

// Down returns the number for n hosts, a share rounded down: at least 1.
func (a Amount) Down(n int) int { return a.of(n, math.Floor) }

func (a Amount) of(n int, round func(float64) float64) int {
	if a.Count > 0 {
		return a.Count
	}
	// 1.1 percent of 3000 is 33: not the 33.00000000000001 that floats make of it.
	share := math.Round(a.Percent*float64(n)*1e4) / 1e6
	return max(1, int(round(share)))
}

// ParseAmount reads the result of [Amount.String], for a count or a share.
func ParseAmount(text string) (Amount, error) {
	if share, is := strings.CutSuffix(text, "%"); is {
		percent, err := strconv.ParseFloat(share, 64)
		if err == nil && percent > 0 && percent <= 100 {
			return Amount{Percent: percent}, nil
		}
	} else if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return Amount{Count: n}, nil
	}
	return Amount{}, fmt.Errorf("%q is neither a number of hosts nor a percentage", text)
}

// String returns the written form.
func (a Amount) String() string {
	switch {
	case a.Rest:
		return "rest"
	case a.Count > 0:
		return strconv.Itoa(a.Count)
	}
	return strconv.FormatFloat(a.Percent, 'f', -1, 64) + "%"
}

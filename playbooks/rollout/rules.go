package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rules are what is written of a rollout.
type Rules struct {
	// Batches are sizes: counts, or shares of the hosts that will change, rounded up. The last
	// one repeats. None is one batch of all.
	Batches []Amount
	// By is the variable of the inventory whose value hosts have in common that stand in for one
	// another; "" is none, and they all do.
	By string
	// MaxUnavailable is how many hosts of a value of By may be out at once: a count, or a share
	// of those of the play, rounded down. nil is no bound.
	MaxUnavailable *Amount
	// Soak is how long health checks hold without a break before a host counts as done.
	Soak time.Duration
	// HostDeadline bounds a host, from its drain to the end of its soak; 0 does not.
	HostDeadline time.Duration
	// ProgressDeadline is how long no host may get done before the rollout stops; 0 is for ever.
	ProgressDeadline time.Duration
	// Stop are the limits of the whole rollout, PerBatch those of each batch.
	Stop, PerBatch Limits
	OnStop         OnStop
	// Pause says that a person is asked between batches, and PauseDeadline for how long; 0 is
	// for ever.
	Pause         bool
	PauseDeadline time.Duration
}

// Limits are the numbers at which a rollout stops; nil is none. A share is of the hosts of the
// rollout, or of the batch, rounded down, at least 1.
type Limits struct {
	Failed      *Amount // hosts; those that are unreachable too, unless Unreachable is set
	Unreachable *Amount // hosts that cannot be reached, or were lost
	Gate        *Amount // gates that were not passed
	Restarts    *Amount // hosts on which something was restarted since another resource had changed
}

// OnStop is what is done when a rollout has stopped.
type OnStop string

const (
	Hold      OnStop = "hold"       // wait for a person
	End       OnStop = "end"        // end the run
	UndoBatch OnStop = "undo_batch" // take back what was changed on the hosts of the batch
	UndoAll   OnStop = "undo_all"   // take back what was changed on all hosts
)

// An Amount is a number of hosts, or a share of them.
type Amount struct {
	Count   int
	Percent float64 // used when Count is 0
	Rest    bool    // all that are left; of Batches alone
}

// Up gives the number of n, a share rounded up: at least 1.
func (a Amount) Up(n int) int {
	if a.Rest {
		return max(1, n)
	}
	return a.of(n, math.Ceil)
}

// Down gives the number of n, a share rounded down: at least 1.
func (a Amount) Down(n int) int { return a.of(n, math.Floor) }

func (a Amount) of(n int, round func(float64) float64) int {
	if a.Count > 0 {
		return a.Count
	}
	// 1.1 percent of 3000 is 33: not the 33.00000000000001 that floats make of it.
	share := math.Round(a.Percent*float64(n)*1e4) / 1e6
	return max(1, int(round(share)))
}

// ParseAmount reads what [Amount.String] gives, of a count or a share.
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

// String is how it is written.
func (a Amount) String() string {
	switch {
	case a.Rest:
		return "rest"
	case a.Count > 0:
		return strconv.Itoa(a.Count)
	}
	return strconv.FormatFloat(a.Percent, 'f', -1, 64) + "%"
}

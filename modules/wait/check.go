package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Check implements [modules.Resource]: it looks once. In a check run, a condition that does not hold yet likely holds after
// the planned changes.
func (w *Wait) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	timeout, err := duration("timeout", w.Timeout, 5*time.Minute)
	if err != nil {
		return modules.Plan{}, err
	}
	why, err := w.look(ctx, h, timeout)
	if err != nil || why == nil && w.Port == 0 && w.URL == "" { // files and commands have their own predictions
		return modules.Plan{}, err
	}
	grade, predicts := h.Forecast.Lookup(modules.LiveEffect, "")
	if why == nil {
		return modules.Plan{}, nil
	}
	if predicts && grade != modules.Certain {
		h.Report.Message(modules.LevelInfo, "Would have waited "+w.until())
		return modules.Plan{}, nil
	}
	return modules.Plan{
		Action: "waited " + w.until(),
		// The condition may never be met.
		MayFail: true,
		Idle:    true,
		Effects: []modules.Effect{modules.Anything}, // other programs make changes meanwhile
	}, nil
}

// Apply implements [modules.Resource]: it looks until the condition is met, or the timeout has passed.
func (w *Wait) Apply(ctx context.Context, h modules.Host, _ modules.Plan) error {
	timeout, err := duration("timeout", w.Timeout, 5*time.Minute)
	if err != nil {
		return err
	}
	interval, err := duration("interval", w.Interval, time.Second)
	if err != nil {
		return err
	}
	end := time.Now().Add(timeout)
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		why, err := w.look(ctx, h, time.Until(end))
		if err != nil || why == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("timed out after %s: waited %s: %w", timeout, w.until(), why)
		case <-tick.C:
		}
	}
}

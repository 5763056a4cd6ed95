package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// elsewhere has the controller run the job on another host, and takes over the result, unless the job runs here. Its
// changes do not concern this host, so the forecast ignores them.
func (t *turn) elsewhere(ctx context.Context) (here bool, err error) {
	r, j := t.run, t.job
	switch {
	case r.engine.Elsewhere != nil:
	case j.entry.On == "":
		return true, nil
	default:
		return false, modules.Refuse("only a controller can run it on %s", j.entry.On)
	}
	var triggers []string
	due, err := t.refreshDue(&triggers)
	if err == nil && j.predicts() {
		err = r.refreshes.MayAnnounce(j.index)
	} else if err == nil {
		err = r.refreshes.Announce(j.index)
	}
	if err != nil {
		return false, err
	}
	var there *wire.Elsewhere
	question := &wire.Elsewhere{Index: j.index, Refresh: due != nil || len(triggers) > 0}
	r.real.scheduler.Aside(j.index, func() { there, err = r.engine.Elsewhere(ctx, question) })
	here = err == nil && there.Here
	if err == nil && there.Status == "" && !here {
		err = ErrBeforeTurn
	}
	if err == nil && !here {
		j.elsewhere = !j.predicts()
		if there.Status != wire.Stable { // which goes without saying
			j.result.Status = there.Status
		}
		j.prediction.Recorded()
		if there.Grade != modules.Certain {
			j.prediction.Add(forecast.Doubt{Ref: cmp.Or(there.Because, j.entry.Ref()), Grade: there.Grade})
		}
		if there.Error != "" {
			err = errors.New(there.Error)
		}
	}
	if !j.predicts() {
		t.announced(err, there)
	}
	return here, err
}

// announced removes the due refreshes of a job that has changed nothing on the other host, and records the failure of a
// job if that is unknown.
func (t *turn) announced(err error, there *wire.Elsewhere) {
	refreshes, i := t.run.refreshes, t.job.index
	var unnoted error
	switch {
	case err == ErrBeforeTurn, err == nil && there.Status != wire.Changed: // a job that runs here announces itself again
		unnoted = refreshes.Unannounce(i)
	case err != nil:
		unnoted = refreshes.Retract(i, func() bool { return false })
	}
	if unnoted != nil {
		t.said.Message("warning", "the next run may refresh more than needed: "+unnoted.Error())
	}
}

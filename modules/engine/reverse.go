package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// noteReversal records the state before a resource with reverse is applied for the first time, and a state that it had
// not changed before. After an error, the resource must not be applied.
func (a *attempt) noteReversal(ctx context.Context) error {
	j, reversals := a.turn.job, a.turn.run.reversals
	if !j.entry.Reverse || a.plan.Refreshed && len(a.plan.Changes) == 0 {
		return nil
	}
	if err := reversals.May(j.entry); err != nil {
		return unkept(err)
	}
	v, err := a.reversal(ctx)
	if err != nil {
		return unkept(err)
	}
	return unkept(reversals.Note(j.entry, v, j.secret))
}

func unkept(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(`not done, because it could not be undone (the resource has "reverse"): %w`, err)
}

// reversal returns the resource that restores the current state, or the state before the first change; nil if that is
// recorded already.
func (a *attempt) reversal(ctx context.Context) (*notes.Reversal, error) {
	r, j := a.turn.run, a.turn.job
	reverser, ok := j.resource.(modules.Reverser)
	if !ok {
		return nil, modules.Refuse("type %s cannot", j.entry.Type)
	}
	v, err := r.reversals.New(j.entry, reverser.Subject(), r.engine.Now())
	if err != nil {
		return nil, err
	}
	v.Place, v.Sensitive = r.forecasts.place(v.Subject), j.secret
	var earlier modules.Resource
	if noted := r.reversals.Of(j.entry); noted != nil {
		if earlier, err = r.engine.Decode(&wire.Entry{Type: v.Type, Name: v.Name, Properties: noted.Properties}); err != nil {
			return nil, err
		}
	}
	var properties map[string]any
	a.turn.outside(func() { properties, err = reverser.Reversal(ctx, a.seen, earlier) })
	if err != nil || properties == nil {
		return nil, err
	}
	properties["name"] = j.entry.Name
	if v.Properties, err = json.Marshal(properties); err != nil {
		return nil, err
	}
	// A record that cannot be read would be useless in the run that needs it.
	_, err = r.engine.Decode(&wire.Entry{Type: v.Type, Name: v.Name, Properties: v.Properties})
	return v, err
}

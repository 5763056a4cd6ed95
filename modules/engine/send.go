package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Limits of the values that a result sends to the controller, in bytes of JSON.
const (
	maxValue     = 64 << 10
	maxAllValues = 1 << 20
)

// send records the values that the job, which has ended well, sends, and passes values for other hosts to the
// controller.
func (t *turn) send(ctx context.Context) {
	j, e := t.job, &t.job.exports
	if len(e.wanted) == 0 || j.resource == nil || j.monitors {
		return
	}
	e.sent = map[string]json.RawMessage{}
	sender, keeps := j.resource.(modules.Sender)
	if e.unknown = j.predicts() && j.result.Status == wire.Changed; !e.unknown {
		if keeps {
			seen := t.run.real.present(t.said)
			var values map[string]json.RawMessage
			t.outside(func() { values, e.unsent = sender.Sent(ctx, seen) })
			maps.Copy(e.sent, values)
		}
		if state := t.said.state.Last(); state != nil {
			e.sent[stateKey] = state
		}
		maps.DeleteFunc(e.sent, func(key string, value json.RawMessage) bool { return !e.wanted[key] || !json.Valid(value) })
	}
	if keeps {
		t.keepSent()
	}
	if !e.unknown {
		t.export()
	}
}

// export passes values for other hosts to the controller.
func (t *turn) export() {
	j := t.job
	room := maxAllValues
	for _, key := range j.entry.Export {
		value, err := j.exported(key)
		if err == nil && len(value) > min(room, maxValue) {
			err = fmt.Errorf("%d bytes of JSON are too large for other hosts", len(value))
		}
		if err != nil {
			t.said.Message("warning", fmt.Sprintf("%s is not sent: %v", key, err))
			continue
		}
		room -= len(value)
		if j.result.Sent == nil {
			j.result.Sent = map[string]json.RawMessage{}
		}
		j.result.Sent[key] = value
	}
}

// keepSent stores the values that the job has sent, if it has run. Otherwise it loads the values of the last run.
func (t *turn) keepSent() {
	j, kept := t.job, t.run.history.sent
	if err := kept.Open(); err != nil {
		t.said.Message("warning", "the values sent in earlier runs cannot be read: "+err.Error())
	}
	properties := t.properties
	if properties == nil {
		properties = j.entry.Properties
	}
	key := notes.SentKey(j.entry, properties)
	if j.changed && !j.predicts() {
		if err := kept.Note(key, j.exports.sent, t.run.engine.Now()); err != nil {
			t.said.Message("warning", "its sent values are not stored for runs in which it changes nothing: "+err.Error())
		}
		return
	}
	for name, value := range kept.Last(key) {
		if _, here := j.exports.sent[name]; !here && j.exports.wanted[name] {
			j.exports.sent[name] = value
		}
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of what a result hands to the controller, in bytes of JSON.
const (
	maxValue     = 64 << 10
	maxAllValues = 1 << 20
)

// stateKey is the key that every type sends whose resources report a state.
const stateKey = "state"

// findValues finds which values are wanted of which job, and which jobs are secret since
// they receive from one that is.
func (r *run) findValues() {
	for _, j := range r.jobs {
		for _, from := range j.entry.Receive {
			if from.From >= 0 {
				sender := r.jobs[from.From]
				sender.want(from.Key)
				j.secret = j.secret || sender.secret
			}
		}
		for _, key := range j.entry.Export {
			j.want(key)
		}
	}
}

func (j *job) want(key string) {
	if j.wanted == nil {
		j.wanted = map[string]bool{}
	}
	key, _, _ = strings.Cut(key, ".")
	j.wanted[key] = true
}

// send notes what the job, which has ended well, has for others, and hands the
// controller what is meant for other hosts.
func (j *job) send(ctx context.Context) {
	if len(j.wanted) == 0 || j.resource == nil || j.monitors() {
		return
	}
	j.sent = map[string]json.RawMessage{}
	sender, keeps := j.resource.(modules.Sender)
	if j.unknown = j.predicts() && j.result.Status == modules.Changed; !j.unknown {
		if keeps {
			seen := j.run.present(j.said)
			var values map[string]json.RawMessage
			j.outside(func() { values, j.unsent = sender.Sent(ctx, seen) })
			maps.Copy(j.sent, values)
		}
		if state := j.said.state.Last(); state != nil {
			j.sent[stateKey] = state
		}
		maps.DeleteFunc(j.sent, func(key string, value json.RawMessage) bool { return !j.wanted[key] || !json.Valid(value) })
	}
	if keeps {
		j.keepSent()
	}
	if !j.unknown {
		j.export()
	}
}

// export hands the controller what is meant for other hosts.
func (j *job) export() {
	room := maxAllValues
	for _, key := range j.entry.Export {
		value, err := j.value(key)
		if err == nil && len(value) > min(room, maxValue) {
			err = fmt.Errorf("%d bytes of JSON are too large for other hosts", len(value))
		}
		if err != nil {
			j.said.Message("warning", fmt.Sprintf("%s is not sent: %v", key, err))
			continue
		}
		room -= len(value)
		if j.result.Sent == nil {
			j.result.Sent = map[string]json.RawMessage{}
		}
		j.result.Sent[key] = value
	}
}

// value gives what the job has sent as key, or why there is no such value.
func (j *job) value(key string) (json.RawMessage, error) {
	first, rest, deeper := strings.Cut(key, ".")
	value, ok := j.sent[first]
	switch {
	case ok:
	case j.unsent != nil:
		return nil, j.unsent
	case j.status == modules.Skipped:
		return nil, errors.New("it was skipped")
	case first == stateKey:
		return nil, errors.New("it does not tell its state")
	case j.changed && !j.predicts():
		return nil, errors.New("it has no such value, or one that is too long or no text")
	default:
		return nil, errors.New("it has never run here, or nobody received it then; let it run once, by removing what its creates, onlyif or unless finds, or read the value in another way")
	}
	for deeper {
		var part string
		part, rest, deeper = strings.Cut(rest, ".")
		if value, ok = element(value, part); !ok {
			return nil, fmt.Errorf("there is no %q in what it has sent", part)
		}
	}
	return value, nil
}

// element gives the member of an object, or that of an array by its number.
func element(value json.RawMessage, name string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		value, ok := object[name]
		return value, ok
	}
	var array []json.RawMessage
	n, err := strconv.Atoi(name)
	if err != nil || json.Unmarshal(value, &array) != nil || n < 0 || n >= len(array) {
		return nil, false
	}
	return array[n], true
}

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

// traffic is what a catalog sends and receives.
type traffic struct {
	wanted map[int]map[string]bool // sender → keys, without what leads into their values
	secret []bool                  // entries that are sensitive, or receive from one that is
}

func findTraffic(entries []modules.Entry) traffic {
	t := traffic{wanted: map[int]map[string]bool{}, secret: make([]bool, len(entries))}
	want := func(sender int, key string) {
		if t.wanted[sender] == nil {
			t.wanted[sender] = map[string]bool{}
		}
		key, _, _ = strings.Cut(key, ".")
		t.wanted[sender][key] = true
	}
	for i := range entries {
		t.secret[i] = entries[i].Sensitive
		for _, from := range entries[i].Receive {
			if from.From >= 0 {
				want(from.From, from.Key)
				t.secret[i] = t.secret[i] || t.secret[from.From]
			}
		}
		for _, key := range entries[i].Export {
			want(i, key)
		}
	}
	return t
}

// secret reports whether nothing of what an entry holds may be shown.
func (r *run) secret(i int) bool { return r.traffic.secret[i] }

// send notes what an entry that has ended well has for others, and hands the
// controller what is meant for other hosts.
func (r *run) send(ctx context.Context, i int, result *modules.Result, said *said) {
	out, wanted := &r.results[i], r.traffic.wanted[i]
	if len(wanted) == 0 || r.resources[i] == nil || r.monitors(i) {
		return
	}
	out.sent = map[string]json.RawMessage{}
	sender, remembers := r.resources[i].(modules.Sender)
	if out.unknown = r.checked(i) && result.Status == modules.Changed; !out.unknown {
		if remembers {
			seen := r.present(said)
			var values map[string]json.RawMessage
			r.outside(i, func() { values, out.unsent = sender.Sent(ctx, seen) })
			maps.Copy(out.sent, values)
		}
		if state := said.state.Last(); state != nil {
			out.sent[stateKey] = state
		}
		maps.DeleteFunc(out.sent, func(key string, value json.RawMessage) bool { return !wanted[key] || !json.Valid(value) })
	}
	if remembers {
		r.keepSent(i, said)
	}
	if !out.unknown {
		r.export(i, result, said)
	}
}

// export hands the controller what is meant for other hosts.
func (r *run) export(i int, result *modules.Result, said *said) {
	room := maxAllValues
	for _, key := range r.cat.Entries[i].Export {
		value, err := r.value(i, key)
		if err == nil && len(value) > min(room, maxValue) {
			err = fmt.Errorf("%d bytes of JSON are too large for other hosts", len(value))
		}
		if err != nil {
			said.Message("warning", fmt.Sprintf("%s is not sent: %v", key, err))
			continue
		}
		room -= len(value)
		if result.Sent == nil {
			result.Sent = map[string]json.RawMessage{}
		}
		result.Sent[key] = value
	}
}

// value gives what an entry has sent as key, or why there is no such value.
func (r *run) value(i int, key string) (json.RawMessage, error) {
	out := &r.results[i]
	first, rest, deeper := strings.Cut(key, ".")
	value, ok := out.sent[first]
	switch {
	case ok:
	case out.unsent != nil:
		return nil, out.unsent
	case out.status == modules.Skipped:
		return nil, errors.New("it was skipped")
	case first == stateKey:
		return nil, errors.New("it does not tell its state")
	case out.changed && !r.checked(i):
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

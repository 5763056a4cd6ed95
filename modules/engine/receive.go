package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
)

// receive puts what others have sent into the properties of an entry, and makes its
// resource. In a check run, unknown says what would be done with values that nobody
// knows yet.
func (r *run) receive(ctx context.Context, i int, p *forecast.Prediction) (unknown string, err error) {
	entry := &r.cat.Entries[i]
	if len(entry.Receive) == 0 {
		return "", nil
	}
	given, err := r.given(ctx, i)
	if err != nil {
		return "", err
	}
	properties := entry.Properties
	for _, from := range entry.Receive {
		value, known := given.Values[from.Property]
		sender := elsewhere(from)
		if from.From >= 0 {
			sender = r.cat.Entries[from.From].Ref()
			r.traffic.secret[i] = r.traffic.secret[i] || r.traffic.secret[from.From] // it may have received it from another host
			if known = !r.results[from.From].unknown || !r.checked(i); known {
				if value, err = r.value(from.From, from.Key); err != nil {
					return "", modules.Refuse("%s has not sent %s: %w", sender, from.Key, err)
				}
			}
		} else if !known && !given.Unknown {
			return "", modules.Refuse("%s was not sent by %s", from.Property, sender)
		}
		if !known {
			unknown += ", " + from.Property + " from " + sender
			p.Doubt(sender)
			continue
		}
		if properties, err = with(properties, strings.Split(from.Property, "."), value); err != nil {
			return "", modules.Refuse("%s cannot be received: %w", from.Property, err)
		}
	}
	if unknown != "" {
		return "Would have received " + unknown[2:] + "; known after apply", nil
	}
	r.results[i].properties = properties
	received := *entry
	received.Properties = properties
	r.resources[i], err = r.decode(i, &received)
	return "", r.misfits(i, properties, err)
}

// given asks the controller for what an entry receives from other hosts.
func (r *run) given(ctx context.Context, i int) (given *modules.Given, err error) {
	receive := r.cat.Entries[i].Receive
	at := slices.IndexFunc(receive, func(from modules.Receive) bool { return from.From < 0 })
	if at < 0 {
		return &modules.Given{}, nil
	}
	if r.Need == nil {
		return nil, modules.Refuse("%s comes from %s, which only a controller can ask", receive[at].Property, elsewhere(receive[at]))
	}
	r.scheduler.Aside(i, func() { given, err = r.Need(ctx, i) })
	switch {
	case err != nil:
		return nil, err
	case given.Error != "":
		return nil, modules.Refuse("%s", given.Error)
	case given.Unknown && !r.checked(i):
		return nil, modules.Refuse("%s was not sent by %s", receive[at].Property, elsewhere(receive[at]))
	}
	r.traffic.secret[i] = r.traffic.secret[i] || given.Sensitive
	return given, r.begins(i)
}

// elsewhere names the sender of a value on another host.
func elsewhere(from modules.Receive) string { return cmp.Or(from.Sender, "another host") }

// with is a JSON object with a value at a path in it.
func with(object json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	members := map[string]json.RawMessage{}
	if len(object) > 0 {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, errors.New("what it would be in is no object")
		}
	}
	inner, err := with(members[path[0]], path[1:], value)
	if err != nil {
		return nil, err
	}
	if members == nil { // it was null
		members = map[string]json.RawMessage{}
	}
	members[path[0]] = inner
	return json.Marshal(members)
}

// misfits words the error of properties that were received: which one, and whose value
// it is.
func (r *run) misfits(i int, properties json.RawMessage, err error) error {
	if err == nil {
		return nil
	}
	mismatch, ofType := errors.AsType[*json.UnmarshalTypeError](err)
	problems := modules.PropertyErrors(err)
	for _, from := range r.cat.Entries[i].Receive {
		source := elsewhere(from) + " has sent"
		if from.From >= 0 {
			source = fmt.Sprintf("%s has sent as %s", r.cat.Entries[from.From].Ref(), from.Key)
		}
		top, _, _ := strings.Cut(from.Property, ".")
		kind := kindOf(properties, top)
		if ofType && (mismatch.Field == top || mismatch.Field == "" && strings.HasPrefix(mismatch.Value, kind)) {
			return modules.Refuse("%s cannot be the %s that %s", from.Property, kind, source)
		}
		for _, p := range problems {
			if p.Path == top || strings.HasPrefix(p.Path, top+".") || strings.HasPrefix(p.Path, top+"[") {
				return &misfit{text: fmt.Sprintf("%v; it is what %s", p, source), safe: fmt.Sprintf("%s cannot be what %s", from.Property, source)}
			}
		}
	}
	return err
}

// misfit is the error of a value that a property cannot have.
type misfit struct{ text, safe string }

func (m *misfit) Error() string { return m.text }

// Redacted implements [modules.Redactor].
func (m *misfit) Redacted() string { return m.safe }

// kindOf names the type of a member of an object, in the words of encoding/json.
func kindOf(object json.RawMessage, name string) string {
	value, _ := element(object, name)
	switch {
	case len(value) == 0 || value[0] == 'n':
		return "null"
	case value[0] == '{':
		return "object"
	case value[0] == '[':
		return "array"
	case value[0] == '"':
		return "string"
	case value[0] == 't' || value[0] == 'f':
		return "bool"
	}
	return "number"
}

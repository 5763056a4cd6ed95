package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// receive inserts received values into the properties of the job, and creates its resource. In a check run, unknown
// describes the action with values that are not known yet.
func (t *turn) receive(ctx context.Context) (unknown string, err error) {
	j := t.job
	if len(j.entry.Receive) == 0 {
		return "", nil
	}
	others, err := t.askOthers(ctx)
	if err != nil {
		return "", err
	}
	in := imports{j, t.run.jobs, others}
	properties := j.entry.Properties
	for _, from := range j.entry.Receive {
		value, known, err := in.value(from)
		if err != nil {
			return "", err
		}
		if !known {
			unknown += ", " + from.Property + " from " + in.sender(from)
			j.prediction.Doubt(in.sender(from))
			continue
		}
		if properties, err = with(properties, strings.Split(from.Property, "."), value); err != nil {
			return "", modules.Refuse("%q cannot be received: %w", from.Property, err)
		}
	}
	if unknown != "" {
		return "Would have received " + unknown[2:] + "; known after apply", nil
	}
	t.properties = properties
	received := *j.entry
	received.Properties = properties
	t.run.decode(j, &received)
	err, j.invalid = in.misfits(properties, j.invalid), nil
	return "", err
}

// askOthers requests from the controller the values that the job receives from other hosts.
func (t *turn) askOthers(ctx context.Context) (others *wire.Imported, err error) {
	j, ask := t.job, t.run.engine.Import
	at := slices.IndexFunc(j.entry.Receive, func(from wire.Receive) bool { return from.From < 0 })
	if at < 0 {
		return &wire.Imported{}, nil
	}
	first := j.entry.Receive[at]
	sender := imports{job: j}.sender(first)
	if ask == nil {
		return nil, modules.Refuse("%s comes from %s, which only a controller can query", first.Property, sender)
	}
	t.run.real.scheduler.Aside(j.index, func() { others, err = ask(ctx, j.index) })
	switch {
	case err != nil:
		return nil, err
	case others.Error != "":
		return nil, modules.Refuse("%s", others.Error)
	case others.Unknown && !j.predicts():
		return nil, modules.Refuse("%s was not sent by %s", first.Property, sender)
	}
	j.secret = j.secret || others.Sensitive
	return others, t.begins()
}

// imports are the values that a job receives.
type imports struct {
	job    *job
	jobs   jobs           // the senders are among them
	others *wire.Imported // values from other hosts
}

// value returns the value for one property. It is not known if its sender is only predicted to run.
func (in imports) value(from wire.Receive) (value json.RawMessage, known bool, err error) {
	if from.From < 0 {
		value, known = in.others.Values[from.Property]
		if !known && !in.others.Unknown {
			return nil, false, modules.Refuse("%s was not sent by %s", from.Property, in.sender(from))
		}
		return value, known, nil
	}
	sender := in.jobs[from.From]
	in.job.secret = in.job.secret || sender.secret // it may have received it from another host
	if sender.exports.unknown && in.job.predicts() {
		return nil, false, nil
	}
	if value, err = sender.exported(from.Key); err != nil {
		return nil, false, modules.Refuse("%s has not sent %q: %w", in.sender(from), from.Key, err)
	}
	return value, true, nil
}

// sender names who sends a value.
func (in imports) sender(from wire.Receive) string {
	if from.From >= 0 {
		return in.jobs[from.From].entry.Ref()
	}
	return cmp.Or(from.Sender, "another host")
}

// misfits words the error of properties that were received: which one, and whose value
// it is.
func (in imports) misfits(properties json.RawMessage, err error) error {
	if err == nil {
		return nil
	}
	mismatch, ofType := errors.AsType[*json.UnmarshalTypeError](err)
	problems := modules.PropertyErrors(err)
	for _, from := range in.job.entry.Receive {
		sender, as := in.sender(from), ""
		if from.From >= 0 {
			as = " as " + strconv.Quote(from.Key)
		}
		top, _, _ := strings.Cut(from.Property, ".")
		kind := kindOf(properties, top)
		if ofType && (mismatch.Field == top || mismatch.Field == "" && strings.HasPrefix(mismatch.Value, kind)) {
			return modules.Refuse("%q cannot be the %s that %s has sent%s", from.Property, kind, sender, as)
		}
		for _, p := range problems {
			if p.Path == top || strings.HasPrefix(p.Path, top+".") || strings.HasPrefix(p.Path, top+"[") {
				return &misfit{
					text: fmt.Sprintf("%v; %s has sent this value%s", p, sender, as),
					safe: fmt.Sprintf("%q cannot take the value that %s has sent%s", from.Property, sender, as),
				}
			}
		}
	}
	return err
}

// with is a JSON object with a value at a path in it.
func with(object json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	members := map[string]json.RawMessage{}
	if len(object) > 0 {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, errors.New("its parent is not an object")
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

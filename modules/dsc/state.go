package dsc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Members of a state that are about it, and not properties of the instance.
const (
	inDesiredState  = "_inDesiredState"
	restartRequired = "_restartRequired"
	metadata        = "_metadata"
)

// A reading is the parsed output of an operation.
type reading struct {
	state   map[string]any    // only the properties
	differ  []string          // of stateAndDiff
	verdict *bool             // _inDesiredState
	restart []json.RawMessage // _restartRequired
	meta    map[string]any    // _metadata
}

// printed is the JSON that a call has printed.
type printed struct {
	what   string // the call
	text   string // without the byte order mark that some programs begin with
	values []process.Value
	hide   func(string) string
}

// line quotes the line that contains a value.
func (p printed) line(v process.Value) string { return process.Line(p.text, v.At, p.hide) }

// parse reads the output of a call. If that is not JSON, or not as read expects, all of it is reported.
func (rs *resource) parse(c call, exit modules.Exit, read func(printed) error) error {
	p := printed{what: rs.what(c), text: strings.TrimPrefix(exit.Stdout.Text, "\ufeff"), hide: rs.secrets.HidePrinted}
	var err error
	if p.values, err = process.Values(p.text); err == nil {
		err = read(p)
	} else {
		evidence := err.Error()
		if fault, ok := errors.AsType[*process.Fault](err); ok {
			evidence = fault.Hiding(p.hide)
		}
		err = failed(evidence, "%s has printed text that is not JSON", p.what)
	}
	if err != nil {
		rs.show(c, exit)
	}
	return err
}

// read parses the output of a call: a state, and with diff the names of the properties that differ.
func (rs *resource) read(c call, exit modules.Exit, diff bool) (r reading, err error) {
	err = rs.parse(c, exit, func(p printed) error {
		r, err = rs.parseState(p, diff)
		return err
	})
	return r, err
}

func (rs *resource) parseState(p printed, diff bool) (reading, error) {
	values, what, most := p.values, p.what, 1
	if diff {
		most = 2
	}
	switch {
	case len(values) == 0:
		return reading{}, failed("", "%s has printed nothing where a state was expected", what)
	case len(values) > most:
		return reading{}, failed(p.line(values[most]), "%s has printed more than a state", what)
	case diff && len(values) < most:
		return reading{}, failed("", "%s has printed no list of properties after the state", what)
	}
	state, ok := values[0].JSON.(map[string]any)
	if !ok {
		return reading{}, failed(p.line(values[0]), "%s has printed %s where a state was expected", what, kindOf(values[0].JSON))
	}
	r, err := rs.reading(what, state)
	if err != nil || !diff {
		return r, err
	}
	list, ok := values[1].JSON.([]any)
	for _, item := range list {
		name, isText := item.(string)
		ok = ok && isText
		r.differ = append(r.differ, name)
	}
	if !ok {
		return reading{}, failed(p.line(values[1]), "%s has printed %s where a list of properties was expected", what, kindOf(values[1].JSON))
	}
	return r, nil
}

// reading separates annotations of the state from its properties, and validates the properties against the schema.
func (rs *resource) reading(what string, state map[string]any) (reading, error) {
	r := reading{}
	state = maps.Clone(state)
	if v, ok := state[inDesiredState]; ok && v != nil {
		b, isBool := v.(bool)
		if !isBool {
			return r, failed("", "%s has given %s as %s, which must be true or false", what, kindOf(v), inDesiredState)
		}
		r.verdict = &b
	}
	if list, ok := state[restartRequired].([]any); ok {
		for _, item := range list {
			b, err := json.Marshal(withhold(rs.secrets, item))
			if err != nil {
				return r, err
			}
			r.restart = append(r.restart, b)
		}
	}
	r.meta, _ = state[metadata].(map[string]any)
	for _, name := range []string{inDesiredState, restartRequired, metadata} {
		if !rs.schema.Property(name).Declared || name != inDesiredState {
			delete(state, name)
		}
	}
	if rs.schema == nil || rs.as.Kind != manifest.KindResource {
		r.state = state
		return r, nil
	}
	coerced, warnings := rs.schema.Coerce(state)
	for _, w := range warnings {
		rs.quirks = append(rs.quirks, what+": "+w)
	}
	r.state = coerced.(map[string]any)
	if faults := rs.dropUnknown(what, r.state, rs.schema.Check(coerced)); len(faults) > 0 {
		return r, failed(rs.secrets.Hide(sentence(faults)), "%s has given a state that its schema does not allow", what)
	}
	delete(r.state, inDesiredState)
	return r, nil
}

// dropUnknown removes properties from a state that its schema does not know. They do no harm, and resources are used to
// being unchecked. It returns the other faults.
func (rs *resource) dropUnknown(what string, state map[string]any, faults []schema.Fault) []schema.Fault {
	var others []schema.Fault
	for _, f := range faults {
		if f.Path != "" || f.Unknown == "" {
			others = append(others, f)
			continue
		}
		delete(state, f.Unknown)
		rs.quirks = append(rs.quirks, fmt.Sprintf("%s: the state %s; it is ignored", what, f.Msg))
	}
	return others
}

func sentence(faults []schema.Fault) string {
	var texts []string
	for _, f := range faults {
		texts = append(texts, f.Error())
	}
	return strings.Join(texts, "; ")
}

// get reads the state of the instance.
func (in *instance) get(ctx context.Context) (reading, error) {
	c := call{name: "get", operation: in.resource.operation("get"), properties: in.wanted}
	exit, err := in.resource.call(ctx, c)
	if err != nil {
		return reading{}, err
	}
	return in.resource.read(c, exit, false)
}

// document returns a state for a report: JSON without secrets.
func (rs *resource) document(state map[string]any) json.RawMessage {
	if state == nil {
		return nil
	}
	text, err := process.JSON(withholdState(rs.secrets, state))
	if err != nil {
		return nil
	}
	return json.RawMessage(text)
}

// shown returns the text of a value in a change.
func (rs *resource) shown(v any, given bool) string {
	const most = 200 // bytes
	if !given {
		return ""
	}
	v = withhold(rs.secrets, v)
	text, ok := v.(string)
	if !ok {
		var err error
		if text, err = process.JSON(v); err != nil {
			text = fmt.Sprint(v)
		}
	}
	return process.Clip(text, most)
}

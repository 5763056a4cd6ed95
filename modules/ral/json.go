package ral

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// getJSON calls get of a json provider.
func (p *provider) getJSON(ctx context.Context, h modules.Host, names []string) (map[string]*entry, *failure) {
	if names == nil {
		names = []string{}
	}
	question, failed := p.encode("get", map[string]any{"names": names})
	if failed != nil {
		return nil, failed
	}
	said, failed := p.call(ctx, h, h.Commands.Probe, "get", []string{"ral_action=get"}, question)
	if failed != nil {
		return nil, failed
	}
	all, failed := p.parseGet(said.Stdout.Text)
	return all, p.evidence(h.Report, "get", said, failed)
}

// setJSON calls set of a json provider.
func (p *provider) setJSON(ctx context.Context, h modules.Host, start starter, updates []update, noop bool) (map[string]*report, *failure) {
	type document struct {
		Name   string `json:"name"`
		Is     values `json:"is"`
		Should values `json:"should"`
	}
	var documents []document
	for _, u := range updates {
		documents = append(documents, document{u.name, u.is.plus(nil), u.should})
	}
	question, failed := p.encode("set", map[string]any{"updates": documents, "ral": map[string]bool{"noop": noop}})
	if failed != nil {
		return nil, failed
	}
	said, failed := p.call(ctx, h, start, "set", []string{"ral_action=set"}, question)
	if failed != nil {
		return nil, failed
	}
	all, failed := p.parseSet(said.Stdout.Text, updates)
	return all, p.evidence(h.Report, "set", said, failed)
}

func (p *provider) encode(action string, doc any) (string, *failure) {
	text, err := process.JSON(doc)
	if err != nil {
		return "", p.broken(action, "cannot be called: %v", err)
	}
	return text + "\n", nil
}

// answer is the output of a provider, for get and for set.
type answer struct {
	Error     json.RawMessage   `json:"error"`
	Resources *[]map[string]any `json:"resources"`
	Changes   *[]map[string]any `json:"changes"`
	Derive    bool              `json:"derive"`
}

// parseAnswer reads one JSON object and nothing after it.
func (p *provider) parseAnswer(action, text string) (*answer, *failure) {
	var a answer
	err := process.Decode(text, &a)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%w: %w", shapeError(wrong), err)
	}
	if err != nil {
		return nil, p.broken(action, "printed an invalid answer: %v", err)
	}
	if len(a.Error) == 0 || string(a.Error) == "null" {
		return &a, nil
	}
	var told any
	if err := process.Decode(string(a.Error), &told); err != nil {
		return nil, p.broken(action, "printed an invalid answer: %v", err)
	}
	return nil, p.parseError(told)
}

// parseError reads {"message": ..., "kind": ...}. A missing or unknown kind means a failure; the message may be a list.
// A code, which some providers add, and a kind that libral does not know are appended to the message.
func (p *provider) parseError(told any) *failure {
	doc, ok := told.(map[string]any)
	if !ok {
		doc = map[string]any{"message": told}
	}
	kind, word := modules.ErrorFailed, inText(doc["kind"])
	var known []string
	switch k := modules.ErrorKind(word); {
	case k == modules.ErrorUnknown, k == modules.ErrorForbidden:
		kind = k
	case word != "" && k != modules.ErrorFailed:
		known = append(known, "kind "+word)
	}
	if code := inText(doc["code"]); code != "" {
		known = append(known, "code "+code)
	}
	message := inText(doc["message"])
	if strings.TrimSpace(message) == "" {
		return p.silent(kind, told)
	}
	if len(known) > 0 {
		message += " (" + strings.Join(known, ", ") + ")"
	}
	return p.told(kind, message)
}

// written quotes a value as printed by the provider, except for blanks and order.
func written(v any) string {
	text, err := process.JSON(v)
	if err != nil {
		return inWords(v)
	}
	return process.Quote(text)
}

// inText returns the text of a single value, or the joined texts of a list, or "".
func inText(v any) string {
	list, isList := v.([]any)
	if !isList {
		s, _ := scalar(v)
		return s
	}
	var parts []string
	for _, e := range list {
		if s, ok := scalar(e); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

// parseGet reads the answer to get.
func (p *provider) parseGet(text string) (map[string]*entry, *failure) {
	a, failed := p.parseAnswer("get", text)
	if failed != nil {
		return nil, failed
	}
	if a.Resources == nil {
		return nil, p.broken("get", "answered without resources: %s", process.Quote(process.First(text)))
	}
	all := map[string]*entry{}
	for i, told := range *a.Resources {
		name, ok := scalar(told["name"])
		switch {
		case !ok || name == "":
			return nil, p.broken("get", "answered with a resource without a name, the %d. of them: %s", i+1, written(told))
		case all[name] != nil:
			return nil, p.broken("get", "answered with resource %q twice", name)
		}
		all[name] = &entry{}
		if told["error"] != nil {
			all[name].err = p.parseError(told["error"])
			continue
		}
		all[name].values, all[name].err = p.attributes("get", told)
	}
	return all, nil
}

// parseSet reads the answer to set.
func (p *provider) parseSet(text string, updates []update) (map[string]*report, *failure) {
	a, failed := p.parseAnswer("set", text)
	if failed != nil {
		return nil, failed
	}
	if a.Changes == nil && !a.Derive {
		return nil, p.broken("set", "answered without changes: %s", process.Quote(process.First(text)))
	}
	all := map[string]*report{}
	if a.Changes != nil {
		for i, told := range *a.Changes {
			name, ok := scalar(told["name"])
			if !ok || name == "" {
				return nil, p.broken("set", "answered with a change without a name, the %d. of them: %s", i+1, written(told))
			}
			if all[name] == nil {
				all[name] = &report{changes: map[string]change{}}
			}
			p.parseChange(all[name], told)
		}
	}
	for _, u := range updates {
		if a.Derive && all[u.name] == nil {
			all[u.name] = derived(u)
		}
	}
	return all, nil
}

// parseChange reads one element of changes into a report.
func (p *provider) parseChange(r *report, told map[string]any) {
	if told["error"] != nil {
		r.err = p.parseError(told["error"])
		return
	}
	for key, v := range told {
		a, known := p.Attributes[key]
		if key == "name" || !known {
			continue
		}
		pair, ok := v.(map[string]any)
		if _, has := pair["is"]; !ok || !has {
			r.err = p.broken("set", "reports a change of %q without is or was: %s", key, written(v))
			return
		}
		is, err := a.read(pair["is"])
		was, wasErr := a.read(pair["was"])
		if err = errors.Join(err, wasErr); err != nil {
			r.err = p.broken("set", "reports an impossible value for %q: %v", key, err)
			return
		}
		r.changes[key] = change{was, is}
	}
}

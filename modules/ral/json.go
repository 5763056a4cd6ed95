package ral

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// getJSON asks a provider that speaks JSON.
func (p *provider) getJSON(ctx context.Context, h modules.Host, names []string) (map[string]*entry, *failure) {
	if names == nil {
		names = []string{}
	}
	question, failed := p.encode("get", map[string]any{"names": names})
	if failed != nil {
		return nil, failed
	}
	text, failed := p.call(ctx, h, h.Commands.Probe, "get", []string{"ral_action=get"}, question)
	if failed != nil {
		return nil, failed
	}
	return p.parseGet(text)
}

// setJSON has a provider that speaks JSON make changes.
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
	text, failed := p.call(ctx, h, start, "set", []string{"ral_action=set"}, question)
	if failed != nil {
		return nil, failed
	}
	return p.parseSet(text, updates)
}

func (p *provider) encode(action string, doc any) (string, *failure) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return "", p.broken(action, "cannot be asked: %v", err)
	}
	return b.String(), nil
}

// answer is what a provider prints, for get and for set.
type answer struct {
	Error     json.RawMessage   `json:"error"`
	Resources *[]map[string]any `json:"resources"`
	Changes   *[]map[string]any `json:"changes"`
	Derive    bool              `json:"derive"`
}

// parseAnswer reads one JSON object and nothing after it.
func (p *provider) parseAnswer(action, text string) (*answer, *failure) {
	var a answer
	if err := decode(text, &a); err != nil {
		return nil, p.broken(action, "printed what is no answer: %v", err)
	}
	if len(a.Error) == 0 || string(a.Error) == "null" {
		return &a, nil
	}
	var told any
	if err := decode(string(a.Error), &told); err != nil {
		return nil, p.broken(action, "printed what is no answer: %v", err)
	}
	return nil, p.parseError(told)
}

func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	} else if err != nil {
		return shapeError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// parseError reads {"message": ..., "kind": ...}. A kind that is missing or not known
// is a failure; the message may be a list.
func (p *provider) parseError(told any) *failure {
	doc, ok := told.(map[string]any)
	if !ok {
		message, _ := scalar(told)
		return p.told(modules.ErrorFailed, message)
	}
	kind := modules.ErrorFailed
	switch k, _ := doc["kind"].(string); modules.ErrorKind(k) {
	case modules.ErrorUnknown, modules.ErrorForbidden:
		kind = modules.ErrorKind(k)
	}
	message, _ := scalar(doc["message"])
	if list, isList := doc["message"].([]any); isList {
		var parts []string
		for _, e := range list {
			if s, ok := scalar(e); ok {
				parts = append(parts, s)
			}
		}
		message = strings.Join(parts, "; ")
	}
	return p.told(kind, message)
}

// parseGet reads the answer to get.
func (p *provider) parseGet(text string) (map[string]*entry, *failure) {
	a, failed := p.parseAnswer("get", text)
	if failed != nil {
		return nil, failed
	}
	if a.Resources == nil {
		return nil, p.broken("get", "answered without resources")
	}
	all := map[string]*entry{}
	for i, told := range *a.Resources {
		name, ok := scalar(told["name"])
		switch {
		case !ok || name == "":
			return nil, p.broken("get", "answered with a resource without a name, the %d. of them", i+1)
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
		return nil, p.broken("set", "answered without changes")
	}
	all := map[string]*report{}
	if a.Changes != nil {
		for i, told := range *a.Changes {
			name, ok := scalar(told["name"])
			if !ok || name == "" {
				return nil, p.broken("set", "answered with a change without a name, the %d. of them", i+1)
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
			r.err = p.broken("set", "tells of %q neither is nor was", key)
			return
		}
		is, err := a.read(pair["is"])
		was, wasErr := a.read(pair["was"])
		if err = errors.Join(err, wasErr); err != nil {
			r.err = p.broken("set", "tells of %q what it cannot be: %v", key, err)
			return
		}
		r.changes[key] = change{was, is}
	}
}

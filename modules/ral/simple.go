package ral

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Words of the simple convention.
const (
	simpleHeader  = "# simple"
	simpleError   = "ral_error"
	simpleEnd     = "ral_eom"
	simpleUnknown = "ral_unknown"
	simpleWas     = "ral_was"
	simpleDerive  = "ral_derive"
)

// unfit returns why a text cannot be passed to a simple provider, which answers in lines.
func unfit(text string) error {
	switch {
	case strings.ContainsAny(text, "\n\r"):
		return fmt.Errorf("%q has a line break, which this provider cannot read (its metadata has invoke: simple)", text)
	case strings.ContainsRune(text, 0):
		return errors.New("has a NUL byte")
	}
	return nil
}

// simpleText writes a value in the form of the simple convention: a list with commas.
func simpleText(v any) (string, error) {
	list, isList := v.([]string)
	if !isList {
		s, ok := scalar(v)
		if !ok {
			return "", errors.New("null cannot be written in the simple convention")
		}
		return s, unfit(s)
	}
	for _, s := range list {
		switch {
		case strings.Contains(s, ",") || s != strings.TrimSpace(s) || s == "":
			return "", fmt.Errorf("%q cannot be an element of a list in the simple convention", s)
		case unfit(s) != nil:
			return "", unfit(s)
		}
	}
	return "[" + strings.Join(list, ",") + "]", nil
}

// splitList reads a list as simple providers write it: a, b or [a, b].
func splitList(text string) []string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		text = strings.TrimSuffix(inner, "]")
	}
	list := []string{}
	if strings.TrimSpace(text) == "" {
		return list
	}
	for e := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(e))
	}
	return list
}

// argument writes key='value' including the quotes, since providers in shell read their arguments with eval: the text
// between the quotes is one word there, whatever it contains.
func argument(key, value string) string {
	return key + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// getSimple calls find for each resource; without names one call gets all.
func (p *provider) getSimple(ctx context.Context, h modules.Host, names []string) (map[string]*entry, *failure) {
	if len(names) == 0 || !p.does("find", "get") {
		said, failed := p.call(ctx, h, h.Commands.Probe, "list", []string{"ral_action=list"}, "")
		if failed != nil {
			return nil, failed
		}
		all, failed := p.parseList(said.Stdout.Text)
		return all, p.evidence(h.Report, "list", said, failed)
	}
	all := map[string]*entry{}
	for _, name := range names {
		if err := unfit(name); err != nil {
			return nil, p.broken("find", "cannot be called: the name %v", err)
		}
		said, failed := p.call(ctx, h, h.Commands.Probe, "find", []string{argument("name", name), "ral_action=find"}, "")
		if failed != nil {
			return nil, failed
		}
		one, failed := p.parseFind(said.Stdout.Text, name)
		if failed != nil {
			return nil, p.evidence(h.Report, "find", said, failed)
		}
		all[name] = one
	}
	return all, nil
}

// setSimple changes one resource. It returns nil if the provider reports that nothing has changed.
func (p *provider) setSimple(ctx context.Context, h modules.Host, start starter, u update, noop bool) (*report, *failure) {
	args := []string{argument("name", u.name)}
	for _, key := range slices.Sorted(maps.Keys(u.should)) {
		text, err := simpleText(u.should[key])
		if err != nil {
			return nil, p.broken("update", "cannot be called: the value of %s %v", key, err)
		}
		args = append(args, argument(key, text))
	}
	if noop {
		args = append(args, argument("ral_noop", "true"))
	}
	said, failed := p.call(ctx, h, start, "update", append(args, "ral_action=update"), "")
	if failed != nil {
		return nil, failed
	}
	one, failed := p.parseUpdate(said.Stdout.Text, u)
	return one, p.evidence(h.Report, "update", said, failed)
}

// A field is a line "key: value".
type field struct{ key, value string }

// parseFields reads the lines of an answer. A reported error ends it.
func (p *provider) parseFields(action, text string, header bool) ([]field, *failure) {
	var fields []field
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], "\r") == simpleHeader {
		lines = lines[1:]
	} else if key, _, _ := strings.Cut(lines[0], ":"); header && strings.TrimSpace(key) != simpleError {
		return nil, p.broken(action, "printed an invalid answer: it begins with %q, not with %q", clipped(lines[0]), simpleHeader)
	}
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, found := strings.Cut(line, ":")
		f := field{strings.TrimSpace(key), strings.TrimSpace(value)}
		switch {
		case !found || f.key == "":
			return nil, p.broken(action, "printed an invalid answer: %q is not \"key: value\"", clipped(line))
		case f.key == simpleError:
			message := simpleMessage(f.value, lines[i+1:])
			if message == "" {
				return nil, p.silent(modules.ErrorFailed, nil)
			}
			return nil, p.told(modules.ErrorFailed, message)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// simpleMessage joins an error message of several lines.
func simpleMessage(first string, more []string) string {
	parts := []string{first}
	for _, line := range more {
		line = strings.TrimSpace(line)
		if line == simpleEnd {
			break
		}
		parts = append(parts, line)
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

func clipped(s string) string { return process.Clip(s, 80) }

// parseList reads any number of resources, each of which begins with its name.
func (p *provider) parseList(text string) (map[string]*entry, *failure) {
	fields, failed := p.parseFields("list", text, true)
	if failed != nil {
		return nil, failed
	}
	all, name := map[string]*entry{}, ""
	told := map[string]any{}
	finish := func() *failure {
		if name == "" {
			return nil
		}
		if all[name] != nil {
			return p.broken("list", "printed resource %q twice", name)
		}
		e := &entry{}
		e.values, e.err = p.attributes("list", told)
		all[name] = e
		return nil
	}
	for _, f := range fields {
		switch {
		case f.key == "name" && f.value == "":
			return nil, p.broken("list", "printed a resource without a name")
		case f.key == "name":
			if failed := finish(); failed != nil {
				return nil, failed
			}
			name, told = f.value, map[string]any{}
		case name == "":
			return nil, p.broken("list", "printed %q before a name", clipped(f.key))
		default:
			told[f.key] = f.value
		}
	}
	return all, finish()
}

// parseFind reads the answer about one resource; nil if it has none.
func (p *provider) parseFind(text, name string) (*entry, *failure) {
	fields, failed := p.parseFields("find", text, true)
	if failed != nil {
		return nil, failed
	}
	if slices.Contains(fields, field{simpleUnknown, "true"}) {
		return &entry{err: p.told(modules.ErrorUnknown, fmt.Sprintf("no resource %q, and none can be made", name))}, nil
	}
	told := map[string]any{}
	for _, f := range fields {
		if f.key == "name" && f.value != name {
			return nil, p.broken("find", "was called for resource %q and printed %q", name, clipped(f.value))
		}
		told[f.key] = f.value
	}
	if len(told) == 0 {
		return nil, nil
	}
	e := &entry{}
	e.values, e.err = p.attributes("find", told)
	return e, nil
}

// parseUpdate reads the reported changes.
func (p *provider) parseUpdate(text string, u update) (*report, *failure) {
	fields, failed := p.parseFields("update", text, false)
	if failed != nil {
		return nil, failed
	}
	r := &report{changes: map[string]change{}}
	last := ""
	for _, f := range fields {
		switch f.key {
		case "name":
			if f.value != u.name {
				return nil, p.broken("update", "was called for resource %q and printed %q", u.name, clipped(f.value))
			}
		case simpleDerive:
			if f.value == "true" {
				return derived(u), nil
			}
		case simpleUnknown:
			if f.value == "true" {
				return nil, p.told(modules.ErrorUnknown, fmt.Sprintf("no resource %q, and none can be made", u.name))
			}
		case simpleWas:
			if last == "" {
				return nil, p.broken("update", "printed %s before an attribute", simpleWas)
			}
			if a, known := p.Attributes[last]; known {
				was, err := a.read(f.value)
				if err != nil {
					return nil, p.broken("update", "reports an impossible value for %q: %v", last, err)
				}
				r.changes[last] = change{was, r.changes[last].is}
			}
		default:
			last = f.key
			if a, known := p.Attributes[last]; known {
				is, err := a.read(f.value)
				if err != nil {
					return nil, p.broken("update", "reports an impossible value for %q: %v", last, err)
				}
				r.changes[last] = change{u.is[last], is}
			}
		}
	}
	if len(r.changes) == 0 {
		return nil, nil
	}
	return r, nil
}

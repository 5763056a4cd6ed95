package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxSize bounds a file of manifests, in bytes: 256 KiB.
const MaxSize = 256 << 10

// A Rejected manifest is one that cannot be used.
type Rejected struct {
	Type string // as far as it could be read; "" if it could not
	Err  error
}

// form is the kind of content in a file, by its name.
type form int

const (
	none form = iota
	resourceFile
	listFile
	adaptedFile
	firstFile
)

// suffixes are the file name suffixes, in lower case and without .json, .yaml or .yml.
var suffixes = map[string]form{
	".dsc.resource":        resourceFile,
	".dsc.manifests":       listFile,
	".dsc.adaptedresource": adaptedFile,
}

func formOf(name string) (f form, yaml bool) {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".dscresource.json") {
		return firstFile, false
	}
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		stem, ok := strings.CutSuffix(name, ending)
		if !ok {
			continue
		}
		for suffix, f := range suffixes {
			if strings.HasSuffix(stem, suffix) {
				return f, ending != ".json"
			}
		}
	}
	return none, false
}

// IsFile reports whether a file of that name holds manifests, and whether they are
// YAML. Case does not count.
func IsFile(name string) (is, yaml bool) {
	f, yaml := formOf(name)
	return f != none, yaml
}

// Parse reads the manifests in a file, from JSON. Unusable ones are returned separately from the others.
func Parse(name string, doc json.RawMessage) (all []*Manifest, rejected []*Rejected) {
	add := func(m *Manifest, err error) {
		if err == nil {
			all = append(all, m)
			return
		}
		rejected = append(rejected, &Rejected{typeOf(doc), err})
	}
	f, _ := formOf(name)
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	switch {
	case f == none:
		add(nil, errors.New("the name of the file is not one of a manifest"))
		return all, rejected
	case len(doc) > MaxSize:
		add(nil, fmt.Errorf("it is larger than %d KiB", MaxSize>>10))
		return all, rejected
	case f != listFile:
		add(parseOne(f, doc))
		return all, rejected
	}
	list, err := fields(doc, "", "$schema", "resources", "adaptedResources", "extensions")
	if err != nil {
		add(nil, err)
		return all, rejected
	}
	for _, part := range []struct {
		key string
		form
	}{{"resources", resourceFile}, {"adaptedResources", adaptedFile}} {
		for _, item := range each(list[part.key]) {
			m, err := parseOne(part.form, item)
			if err != nil {
				rejected = append(rejected, &Rejected{typeOf(item), err})
				continue
			}
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *Manifest) int { return strings.Compare(a.Type, b.Type) })
	return all, rejected
}

// each returns the elements of a list; none for another value.
func each(raw json.RawMessage) []json.RawMessage {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items)
	return items
}

// typeOf returns the type in a manifest, even if other parts are wrong.
func typeOf(doc json.RawMessage) string {
	var m struct {
		Type        any `json:"type"`
		DscResource any `json:"dscresource"`
	}
	_ = json.Unmarshal(doc, &m)
	name, _ := m.Type.(string)
	if first, ok := m.DscResource.(map[string]any); ok {
		name, _ = first["name"].(string)
	}
	return name
}

func parseOne(f form, doc json.RawMessage) (*Manifest, error) {
	top, err := object(doc, "")
	if err != nil {
		return nil, err
	}
	var m *Manifest
	switch {
	case f == adaptedFile:
		m, err = parseAdapted(doc)
	case top["dscresource"] != nil:
		m, err = parseFirst(top)
	case top["$schema"] != nil:
		m, err = parseCurrent(doc)
	case top["manifestVersion"] != nil:
		m, err = parseAlpha(top)
	case f == firstFile:
		err = errors.New(`"dscresource" is missing, the key that contains "name", "version" and "get"`)
	default:
		err = errors.New("it has neither $schema nor manifestVersion")
	}
	if err != nil {
		return nil, err
	}
	return m, m.check()
}

// object splits a JSON object into its members. at is its path; "" means the top.
func object(raw json.RawMessage, at string) (map[string]json.RawMessage, error) {
	where, subject := at, strconv.Quote(at)
	if at == "" {
		where, subject = "the manifest", "the manifest"
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	var all map[string]json.RawMessage
	err := d.Decode(&all)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong || err == nil && all == nil {
		return nil, fmt.Errorf("%s must be an object", subject)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return all, nil
}

// fields splits an object that may only have the known keys.
func fields(raw json.RawMessage, at string, known ...string) (map[string]json.RawMessage, error) {
	all, err := object(raw, at)
	if err != nil {
		return nil, err
	}
	for _, key := range sorted(all) {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("unknown field %q%s", key, in(at))
		}
	}
	return all, nil
}

func in(at string) string {
	if at == "" {
		return ""
	}
	return " in " + at
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A reader reads the fields of one object. The first error stays.
type reader struct {
	m   *Manifest // receives warnings about unknown fields
	all map[string]json.RawMessage
	at  string
	err error
}

// inner reads the object in a field, whose unknown fields are ignored; nil if it is missing, or not an object. at is
// its path.
func (r *reader) inner(key, at string, known ...string) *reader {
	raw := json.RawMessage{}
	if !r.get(key, "an object", &raw) {
		return nil
	}
	all, err := object(raw, at)
	if err != nil {
		r.fail(err)
		return nil
	}
	r.m.unknown(all, at, known...)
	return &reader{m: r.m, all: all, at: at}
}

// get reads a field into a value of the kind described by what; if the field is missing, or null, the value is
// unchanged.
func (r *reader) get(key, what string, into any) bool {
	raw, given := r.all[key]
	if !given || r.err != nil || string(bytes.TrimSpace(raw)) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.err = fmt.Errorf("%q%s must be %s", key, in(r.at), what)
		return false
	}
	return true
}

func (r *reader) text(key string, into *string) { r.get(key, "a text", into) }
func (r *reader) flag(key string, into *bool)   { r.get(key, "true or false", into) }

// oneOf reads a text that has few values.
func (r *reader) oneOf(key string, into *string, values ...string) {
	r.text(key, into)
	if r.err == nil && *into != "" && !slices.Contains(values, *into) {
		r.err = fmt.Errorf("%s%s is %q, which is not one of %s", key, in(r.at), *into, strings.Join(values, ", "))
	}
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// exitCodes reads meanings of exit codes: texts by number.
func (r *reader) exitCodes() map[string]string {
	var codes map[string]string
	r.get("exitCodes", "an object of texts", &codes)
	for _, code := range sorted(codes) {
		digits := strings.TrimPrefix(code, "-")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			r.fail(fmt.Errorf("exitCodes has %q, which is not a number", code))
		}
	}
	return codes
}

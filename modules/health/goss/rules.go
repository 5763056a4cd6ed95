package goss

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rules are all rules of a health check, in the order of their kinds and names.
type Rules []Rule

// A Rule contains expectations about one thing of the host.
type Rule struct {
	Kind       string
	Name       string             // name, or the parameter used in its place: exec of a command, path of a file
	Key        string             // key in the rules file
	Expect     map[string]Matcher // by attribute
	Parameters map[string]any     // options of the query: texts, whole numbers, booleans
}

// Attributes returns the attributes for which the rule has an expectation, sorted.
func (r Rule) Attributes() []string { return slices.Sorted(maps.Keys(r.Expect)) }

// Text returns a parameter; "" if it is not given.
func (r Rule) Text(name string) string {
	text, _ := r.Parameters[name].(string)
	return text
}

// Is returns a parameter; false if it is not given.
func (r Rule) Is(name string) bool {
	b, _ := r.Parameters[name].(bool)
	return b
}

// Number returns a parameter; 0 if it is not given.
func (r Rule) Number(name string) int {
	switch n := r.Parameters[name].(type) {
	case float64:
		return int(n)
	case int64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// A kind describes the possible content of rules of one kind.
type kind struct {
	attributes map[string]shape
	parameters map[string]any // an example of each
	name       string         // parameter used in place of the key; empty means none
}

// kinds are all kinds of rules.
var kinds = map[string]kind{
	"addr":    {attributes: map[string]shape{"reachable": boolean}, parameters: map[string]any{"timeout": 0, "address": "", "local-address": ""}, name: "address"},
	"command": {attributes: map[string]shape{"exit-status": number, "stdout": output, "stderr": output}, parameters: map[string]any{"exec": "", "timeout": 0}, name: "exec"},
	"dns":     {attributes: map[string]shape{"resolvable": boolean, "addrs": list}, parameters: map[string]any{"server": "", "timeout": 0, "resolve": ""}, name: "resolve"},
	"file": {attributes: map[string]shape{
		"exists": boolean, "mode": text, "size": number, "owner": text, "uid": number, "group": text, "gid": number,
		"linked-to": text, "filetype": text, "contents": output, "md5": text, "sha256": text, "sha512": text,
	}, parameters: map[string]any{"path": ""}, name: "path"},
	"group": {attributes: map[string]shape{"exists": boolean, "gid": number}, parameters: map[string]any{"groupname": ""}, name: "groupname"},
	"http": {attributes: map[string]shape{"status": number, "body": output, "headers": output}, parameters: map[string]any{
		"allow-insecure": false, "no-follow-redirects": false, "timeout": 0, "method": "", "request-body": "", "url": "",
		"request-headers": []string{}, "username": "", "password": "", "ca-file": "", "cert-file": "", "key-file": "", "proxy": "",
	}, name: "url"},
	"interface":    {attributes: map[string]shape{"exists": boolean, "addrs": list, "mtu": number}, parameters: map[string]any{"name": ""}, name: "name"},
	"kernel-param": {attributes: map[string]shape{"value": text}, parameters: map[string]any{"name": ""}, name: "name"},
	"matching":     {attributes: map[string]shape{"matches": anything}, parameters: map[string]any{"content": anything}},
	"mount": {attributes: map[string]shape{
		"exists": boolean, "opts": list, "vfs-opts": list, "source": text, "filesystem": text, "usage": number,
	}, parameters: map[string]any{"mountpoint": "", "timeout": 0}, name: "mountpoint"},
	"package": {attributes: map[string]shape{"installed": boolean, "versions": list}, parameters: map[string]any{"name": ""}, name: "name"},
	"port":    {attributes: map[string]shape{"listening": boolean, "ip": list}, parameters: map[string]any{"port": ""}, name: "port"},
	"process": {attributes: map[string]shape{"running": boolean}, parameters: map[string]any{"comm": ""}, name: "comm"},
	"service": {attributes: map[string]shape{"enabled": boolean, "running": boolean, "runlevels": list}, parameters: map[string]any{"name": ""}, name: "name"},
	"user": {attributes: map[string]shape{
		"exists": boolean, "uid": number, "gid": number, "groups": list, "home": text, "shell": text,
	}, parameters: map[string]any{"username": ""}, name: "username"},
}

// also are other spellings of attributes.
var also = map[string]string{"contains": "contents", "resolveable": "resolvable"}

// Kinds lists the kinds of rules.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// An Error describes a mistake in rules. Hint, which may be empty, describes the correction.
type Error struct{ Msg, Hint string }

func (e *Error) Error() string { return e.Msg }

// Errors splits an error of [Parse].
func Errors(err error) []*Error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, e := range many.Unwrap() {
			all = append(all, Errors(e)...)
		}
		return all
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return []*Error{e}
	}
	return []*Error{{Msg: err.Error()}}
}

func wrong(hint, format string, args ...any) error { return &Error{fmt.Sprintf(format, args...), hint} }

// maxRules bounds the rules of one health check.
const maxRules = 1000

// Decode reads rules from JSON.
func Decode(b json.RawMessage) (Rules, error) {
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	return Parse(all)
}

// Parse reads rules from plain values and reports all errors in them.
func Parse(all map[string]any) (Rules, error) {
	if len(all) == 0 {
		return nil, wrong("write rules: {service: {nginx: {running: true}}}", `"goss_rules" has no rules`)
	}
	var rules Rules
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k, ok := kinds[name]
		if name == "gossfile" { // in a resource the rules of the files have replaced it
			errs = append(errs, wrong("write the rules here", `"gossfile" works in the "health_checks" of a resource in a manifest only, as a map of files`))
			continue
		}
		if !ok {
			errs = append(errs, wrong("known kinds: "+strings.Join(Kinds(), ", "), "unknown kind of rules %q", name))
			continue
		}
		byName, ok := all[name].(map[string]any)
		if !ok || len(byName) == 0 {
			errs = append(errs, wrong("write "+name+": {NAME: {ATTRIBUTE: VALUE}}", "the rules of the kind %q are not a map of names", name))
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			r, err := k.rule(name, key, byName[key])
			errs = append(errs, err)
			if !r.Is("skip") {
				rules = append(rules, r)
			}
		}
	}
	if len(rules) > maxRules {
		errs = append(errs, wrong("", "a health check has at most %d rules, not %d", maxRules, len(rules)))
	}
	return rules, errors.Join(errs...)
}

// rule reads one rule.
func (k kind) rule(kindName, key string, body any) (Rule, error) {
	r := Rule{Kind: kindName, Name: key, Key: key, Expect: map[string]Matcher{}, Parameters: map[string]any{}}
	if kindName == "http" {
		key = withoutUser(key)
		r.Key = key
	}
	attributes, ok := body.(map[string]any)
	if !ok {
		return r, wrong("write "+kindName+": {NAME: {ATTRIBUTE: VALUE}}", "the rule %s %q is not a map of attributes", kindName, key)
	}
	var errs []error
	for _, written := range slices.Sorted(maps.Keys(attributes)) {
		value, name := attributes[written], written
		if other, ok := also[written]; ok && k.attributes[other] != "" {
			name = other
		}
		example, isParameter := k.parameters[name]
		switch {
		case name == "title", name == "meta": // for people
		case name == "skip":
			example, isParameter = false, true
			fallthrough
		case isParameter:
			if !alike(example, value) {
				errs = append(errs, wrong("", "%q of %s %q must be %s", name, kindName, key, sort(example)))
			}
			r.Parameters[name] = value
		case k.attributes[name] == "":
			known := append(slices.Collect(maps.Keys(k.attributes)), slices.Collect(maps.Keys(k.parameters))...)
			slices.Sort(known)
			errs = append(errs, wrong("known attributes: "+strings.Join(known, ", "), "a rule of the kind %s has no attribute %q", kindName, written))
		default:
			m, err := parseMatcher(k.attributes[name], value)
			if err != nil {
				errs = append(errs, wrong("", "%q of %s %q: %v", name, kindName, key, err))
			}
			r.Expect[name] = m
		}
	}
	if name := r.Text(k.name); name != "" {
		r.Name = name
	}
	if kindName == "http" && len(errs) == 0 {
		errs = append(errs, r.request())
	}
	if _, given := r.Parameters["content"]; kindName == "matching" && !given {
		errs = append(errs, wrong("write content: VALUE", `the rule matching %q has no "content"`, key))
	}
	if len(r.Expect) == 0 && len(errs) == 0 {
		errs = append(errs, wrong("known attributes: "+strings.Join(slices.Sorted(maps.Keys(k.attributes)), ", "), "the rule %s %q expects nothing", kindName, key))
	}
	return r, errors.Join(errs...)
}

// alike reports whether a value is of the sort of an example.
func alike(example, value any) bool {
	switch example.(type) {
	case shape:
		return true
	case bool:
		_, ok := value.(bool)
		return ok
	case int:
		f, ok := toNumber(value)
		return ok && f >= 0 && f <= 1<<31
	case []string:
		items, ok := value.([]any)
		return ok && !slices.ContainsFunc(items, func(item any) bool { _, ok := item.(string); return !ok })
	}
	_, ok := value.(string)
	return ok
}

// sort describes the values that are alike an example.
func sort(example any) string {
	switch example.(type) {
	case bool:
		return "true or false"
	case int:
		return "a number"
	case []string:
		return "a list of texts"
	}
	return "a text"
}

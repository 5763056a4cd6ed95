package facts

import (
	"encoding/json"
	"slices"
	"strings"
)

// The collectors. Each serves the facts below the key of its own name.
const (
	Host      = "host"
	Network   = "network"
	Partition = "partition"
	CPU       = "cpu"
	Memory    = "memory"
	Identity  = "identity"
)

// Names lists the collectors in the order in which facts are shown.
func Names() []string { return []string{Host, Network, Partition, CPU, Memory, Identity} }

// Collectors lists the collectors that the facts at these paths need, in the order of [Names]; all selects every one. A
// path is a lookup path without its leading "facts.": dots between keys ("host.info.os"). A first key that does not
// belong to a collector is a custom fact, for which nothing has to be collected; one that is a pattern may be any.
func Collectors(paths []string, all bool) []string {
	wanted := map[string]bool{}
	for _, path := range paths {
		key, pattern := firstKey(path)
		all = all || pattern
		wanted[key] = true
	}
	return slices.DeleteFunc(Names(), func(name string) bool { return !all && !wanted[name] })
}

// firstKey returns the first key of a path. pattern reports that it can be any key: an empty path, a wildcard, a
// modifier, a query or an escape (the syntax of gjson).
func firstKey(path string) (key string, pattern bool) {
	key = path
	if end := strings.IndexAny(path, ".|"); end >= 0 {
		key = path[:end]
	}
	return key, key == "" || strings.ContainsAny(key, `*?#@!\{[`)
}

// A Report is a host's report about itself.
type Report struct {
	// Facts has a tree per collector.
	Facts map[string]json.RawMessage `json:"facts"`
	// Custom are the host's own fact files, to be merged over Facts in this order.
	Custom []CustomFile `json:"custom,omitempty"`
	// Asked has the results of the queries of plays, by fact name. They replace other facts with these names.
	Asked map[string]json.RawMessage `json:"asked,omitempty"`
	// Partial lists the parts that are missing from the report, and why: one line each, beginning with the collector or
	// the path.
	Partial []string `json:"partial,omitempty"`
}

// A CustomFile is a file of facts on the host. Its text is JSON or YAML, according to the end of its path; it has not
// been parsed.
type CustomFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

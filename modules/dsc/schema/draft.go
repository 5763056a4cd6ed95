package schema

import (
	"cmp"
	"strings"
)

// A draft is a version of JSON Schema.
type draft int

const (
	draft4    draft = 4
	draft6    draft = 6
	draft7    draft = 7
	draft2019 draft = 2019 // 2019-09
	draft2020 draft = 2020 // 2020-12

	latest = draft2020
)

// drafts are those whose metaschemas are at json-schema.org.
var drafts = map[string]draft{
	"draft-04/schema": draft4, "draft-06/schema": draft6, "draft-07/schema": draft7,
	"draft/2019-09/schema": draft2019, "draft/2020-12/schema": draft2020,
}

// draftOf tells which draft a $schema names.
func draftOf(uri string) (draft, bool) {
	_, rest, ok := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	if !ok || !strings.HasPrefix(uri, "http:") && !strings.HasPrefix(uri, "https:") {
		return latest, false
	}
	d, known := drafts[rest]
	return cmp.Or(d, latest), known
}

// id is the keyword that names a schema.
func (d draft) id() string {
	if d == draft4 {
		return "id"
	}
	return "$id"
}

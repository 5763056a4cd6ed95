package schema

import "strings"

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

// draftOf tells which draft a $schema names.
func draftOf(uri string) (draft, bool) {
	_, rest, ok := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	if !ok || !strings.HasPrefix(uri, "http:") && !strings.HasPrefix(uri, "https:") {
		return latest, false
	}
	switch rest {
	case "draft-04/schema":
		return draft4, true
	case "draft-06/schema":
		return draft6, true
	case "draft-07/schema":
		return draft7, true
	case "draft/2019-09/schema":
		return draft2019, true
	case "draft/2020-12/schema":
		return draft2020, true
	}
	return latest, false
}

// id is the keyword that names a schema.
func (d draft) id() string {
	if d == draft4 {
		return "id"
	}
	return "$id"
}

// knows reports whether a keyword means something in the draft.
func (d draft) knows(keyword string) bool {
	switch keyword {
	case "id":
		return d == draft4
	case "additionalItems":
		return d <= draft2019
	}
	return d >= since(keyword)
}

// since gives the draft that brought a keyword.
func since(keyword string) draft {
	switch keyword {
	case "$id", "const", "contains", "propertyNames":
		return draft6
	case "if", "then", "else", "$comment", "readOnly", "writeOnly", "examples", "contentEncoding", "contentMediaType":
		return draft7
	case "$defs", "$anchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "dependentSchemas", "dependentRequired",
		"minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties", "contentSchema", "deprecated":
		return draft2019
	case "$dynamicRef", "$dynamicAnchor", "prefixItems":
		return draft2020
	}
	return draft4
}

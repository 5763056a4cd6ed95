package schema

import (
	"fmt"
	"strings"
)

// A draft is a version of JSON Schema.
type draft int

const (
	draft7    draft = 7
	draft2020 draft = 2020 // 2020-12
)

// draftOf returns the draft with which a $schema is read, with a warning if it names another.
func draftOf(uri string) (d draft, warning string) {
	_, name, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	if !strings.HasPrefix(uri, "http:") && !strings.HasPrefix(uri, "https:") {
		name = ""
	}
	switch name {
	case "draft-07/schema":
		return draft7, ""
	case "draft/2020-12/schema":
		return draft2020, ""
	case "draft-04/schema", "draft-06/schema":
		return draft7, fmt.Sprintf("the schema's $schema is %q; it is read as draft 7", uri)
	case "draft/2019-09/schema":
		return draft2020, fmt.Sprintf("the schema's $schema is %q; it is read as draft 2020-12", uri)
	}
	return draft2020, fmt.Sprintf("the schema's $schema is %q, which is not known; it is read as draft 2020-12", uri)
}

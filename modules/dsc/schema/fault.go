package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A Fault is one thing that a schema does not allow.
type Fault struct {
	Path string // members with dots, elements in brackets: "users[2].name"; "" is the whole
	Msg  string // what is wrong there, without the path
	// Unknown is the name of a member that is there and may not be; else "".
	Unknown string

	schema string // the URL of the schema that does not know it
}

func (f Fault) Error() string {
	if f.Path == "" {
		return f.Msg
	}
	return f.Path + " " + f.Msg
}

// maxFaults bounds the faults that are told.
const maxFaults = 10

// Check holds a value, as [Value] gives it, against the schema.
func (s *Schema) Check(v any) []Fault {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Fault{{Msg: oneLine(err)}}
	}
	var faults []Fault
	leaves(invalid, &faults)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Msg, b.Msg))
	})
	return faults
}

// Known names the members that a schema has where a fault is about an unknown one, as
// far as it lists them; sorted.
func (s *Schema) Known(f Fault) []string {
	_, pointer, _ := strings.Cut(f.schema, "#")
	object, _ := s.at(strings.TrimSuffix(pointer, "/")).(map[string]any)
	members, _ := object["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(members))
}

// leaves gathers the faults at the ends of a tree. Of alternatives, none of which
// fits, it tells as one.
func leaves(e *jsonschema.ValidationError, faults *[]Fault) {
	path := pathOf(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(faults, Fault{Path: path, Msg: fmt.Sprintf("lacks %q, which is required", name)})
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(faults, Fault{path, fmt.Sprintf("has %q, which is not known", name), name, e.SchemaURL})
		}
	case *kind.Type:
		add(faults, Fault{Path: path, Msg: fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)})
	case *kind.Enum:
		add(faults, Fault{Path: path, Msg: "must be one of " + listed(k.Want)})
	case *kind.Const:
		add(faults, Fault{Path: path, Msg: "must be " + listed([]any{k.Want})})
	case *kind.Pattern:
		add(faults, Fault{Path: path, Msg: fmt.Sprintf("does not match %s", k.Want)})
	case *kind.AnyOf, *kind.OneOf:
		add(faults, Fault{Path: path, Msg: "fits none of the alternatives" + alternatives(e)})
	default:
		if len(e.Causes) == 0 {
			add(faults, Fault{Path: path, Msg: "is not allowed: " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))})
		}
		for _, cause := range e.Causes {
			leaves(cause, faults)
		}
	}
}

// alternatives tells why none of them fits, as far as it is short.
func alternatives(e *jsonschema.ValidationError) string {
	const most = 3
	var texts []string
	for _, cause := range e.Causes {
		var inner []Fault
		leaves(cause, &inner)
		if len(inner) > 0 && len(texts) < most {
			texts = append(texts, inner[0].Error())
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, "; ") + ")"
}

func add(faults *[]Fault, f Fault) {
	for _, known := range *faults {
		if known == f {
			return
		}
	}
	if len(*faults) < maxFaults {
		*faults = append(*faults, f)
	}
}

func listed(values []any) string {
	const most = 12
	var texts []string
	for i, v := range values {
		if i == most {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, text(v))
	}
	return strings.Join(texts, ", ")
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// pathOf writes the location of a value in the way property errors do.
func pathOf(location []string) string {
	var b strings.Builder
	for _, step := range location {
		if _, err := strconv.Atoi(step); err == nil {
			fmt.Fprintf(&b, "[%s]", step)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is one thing that a schema does not allow.
type Fault struct {
	Path string // members with dots, elements in brackets: "users[2].name"; "" is the whole
	Msg  string // the problem, without the path
	// Unknown is the name of a member that is there and may not be; else "".
	Unknown string

	by *node // the schema that does not know it
}

func (f Fault) Error() string {
	if f.Path == "" {
		return f.Msg
	}
	return f.Path + " " + f.Msg
}

// maxFaults limits the reported faults.
const maxFaults = 10

// Check checks a value, in the form of [Value], against the schema.
func (s *Schema) Check(v any) []Fault {
	c := check{&budget{maxSteps}}
	out := &faults{most: maxFaults}
	ok := c.apply(s.root, v, nil, nil, 0, nil, out)
	if c.remaining < 0 {
		return []Fault{{Msg: "cannot be held against the schema, which would take too long"}}
	}
	if ok {
		return nil
	}
	slices.SortFunc(out.list, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Msg, b.Msg))
	})
	return out.list
}

// Known lists the members that a schema knows in the place of a fault about an unknown one, if it lists them; sorted.
func (s *Schema) Known(f Fault) []string {
	if f.by == nil {
		return nil
	}
	if f.by.additionalProperties != nil { // it only covers its own properties
		return sorted(f.by.properties)
	}
	known := map[string]bool{}
	f.by.members(known, map[*node]bool{})
	return sorted(known)
}

// faults gathers some. Nil gathers none. Unknown members are counted apart: callers may
// forgive them, and would not hear of the others.
type faults struct {
	list    []Fault
	most    int
	unknown int // number of them in the list
}

func (fs *faults) full() bool { return fs == nil || len(fs.list)-fs.unknown >= fs.most }

func (fs *faults) fullOfUnknown() bool { return fs == nil || fs.unknown >= fs.most }

// add takes a fault for which there is room.
func (fs *faults) add(f Fault) {
	if slices.Contains(fs.list, f) {
		return
	}
	fs.list = append(fs.list, f)
	if f.Unknown != "" {
		fs.unknown++
	}
}

// first returns the text of the first fault, or "".
func (fs *faults) first() string {
	if fs == nil || len(fs.list) == 0 {
		return ""
	}
	return fs.list[0].Error()
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

// text writes a value as JSON.
func text(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

package templates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/render"
)

// annotations are checks on data that are written in comments: @require and @validate above a key or on its line, as in
// CCM.
type annotations struct {
	rules    []rule
	warnings []string
}

// A rule has the demands on the value of one key.
type rule struct {
	key      *yamlpos.Node
	path     []string // path of the key in the data
	required bool
	checks   []*expression.Check
}

// Check tests data, merged from all layers, against the annotations of the source. The
// error is [yamlpos.Errors] and never shows a value.
func (s Source) Check(data map[string]any, layers []Layer) error {
	var errs yamlpos.Errors
	for _, r := range s.annotations.rules {
		r.check(data, layers, &errs)
	}
	return errs.Err()
}

// Demands reports whether an annotation checks the value at a path of the data.
func (s Source) Demands(path string) bool {
	return slices.ContainsFunc(s.annotations.rules, func(r rule) bool { return r.name() == path })
}

// Warnings name the annotations that look like a mistake, each with its position.
func (s Source) Warnings() []string { return s.annotations.warnings }

func (r rule) check(data map[string]any, layers []Layer, errs *yamlpos.Errors) {
	value := valueAt(data, r.path)
	if value == nil || value == "" {
		if r.required {
			errs.Add(r.key.Errorf(r.hint(), "key %q is required but has no value", r.name()))
			return
		}
	}
	switch value.(type) {
	case nil, map[string]any, []any:
		return
	}
	s, err := render.TextOf(value)
	if err != nil {
		s = fmt.Sprint(value) // infinity and the like
	}
	for _, c := range r.checks {
		holds, err := c.Holds(s)
		switch {
		case err != nil:
			errs.Add(r.failed(c.Source, err, layers))
		case !holds:
			errs.Add(r.key.Errorf(r.hint(), "the value of the key %q failed the validation %q%s", r.name(), c.Source, r.from(layers)))
		}
	}
}

// failed returns the error of an expression that is wrong, or fails with the value.
func (r rule) failed(source string, err error, layers []Layer) error {
	placed := diag.At(diag.PositionOf(r.key), err).(*diag.Error)
	msg, _, _ := strings.Cut(placed.Msg, " in the expression ") // it is quoted anyway
	return r.key.Errorf(placed.Hint, "key %q validation %q failed: %s%s", r.name(), source, strings.TrimSpace(msg), r.from(layers))
}

// from returns the position of the value for an error, or "" if it is next to the annotation.
func (r rule) from(layers []Layer) string {
	origins := Origins(layers, r.path)
	if len(origins) == 0 {
		return ""
	}
	if at := origins[len(origins)-1].Node; at == nil || at.File == r.key.File && at.Line == r.key.Line {
		return ""
	}
	return WrittenAt(layers, r.name())
}

func (r rule) name() string { return strings.Join(r.path, ".") }

// isSimple reports whether a key can be written in -e key=value.
func isSimple(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-')
	})
}

func (r rule) hint() string {
	switch {
	case len(r.path) > 1:
		return fmt.Sprintf("set the value here or in an override; -e and the inventory replace all of %q", r.path[0])
	case isSimple(r.path[0]):
		return fmt.Sprintf("set the value with -e %s=VALUE or in the inventory", r.path[0])
	}
	return "set the value in a file with -e @FILE, or in the inventory"
}

// valueAt returns the value at a path of keys, or nil.
func valueAt(data map[string]any, path []string) any {
	var value any = data
	for _, key := range path {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return value
}

// annotations reads the comments of all parts. As in CCM, annotations in overrides and
// below lists have no effect.
func (p *sourceParser) annotations(parts Parts) {
	r := annotationReader{seen: map[*yamlpos.Node]bool{}, errs: &p.errs}
	r.keys(p.source.data.node, nil, "")
	for _, f := range p.source.files {
		r.keys(f.node, nil, "")
	}
	if given(parts.Overrides) {
		r.keys(parts.Overrides, nil, `in overrides: write it below "data"`)
	}
	p.source.annotations = r.found
}

type annotationReader struct {
	found annotations
	seen  map[*yamlpos.Node]bool // keys: an alias does not repeat what its anchor demands
	errs  *yamlpos.Errors
}

// keys reads the comments of all keys in a map, recursively. inert is the reason why annotations in them have no
// effect; "" if they have one.
func (a *annotationReader) keys(n *yamlpos.Node, path []string, inert string) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		a.comments(item, nil, "inside a list")
		a.keys(item, nil, "inside a list")
	}
	for _, pair := range n.Pairs {
		if a.seen[pair.Key] {
			continue
		}
		a.seen[pair.Key] = true
		below := append(path[:len(path):len(path)], pair.Key.Text)
		a.comments(pair.Key, below, inert)
		a.keys(pair.Value, below, inert)
	}
}

// comments reads the comments above and next to a key or an item.
func (a *annotationReader) comments(n *yamlpos.Node, path []string, inert string) {
	r := rule{key: n, path: path}
	for line := range strings.Lines(n.Comment) {
		a.line(&r, strings.TrimSpace(line), inert)
	}
	if r.required || len(r.checks) > 0 {
		a.found.rules = append(a.found.rules, r)
	}
	for paragraph := range strings.SplitSeq(n.Stray, "\n\n") {
		last := paragraph[strings.LastIndexByte(paragraph, '\n')+1:]
		if name, _ := annotation(last); name == requireTag || name == validateTag {
			a.warn(n, "the annotation %s near %q belongs to no key: write it directly above a key, or on the line of the key", name, n.Text)
		}
	}
}

// The annotations.
const (
	requireTag  = "@require"
	requiredTag = "@required" // another spelling
	validateTag = "@validate"
)

// annotation splits a line of a comment. The name is "" if the line is not an annotation.
func annotation(line string) (name, rest string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "@") {
		return "", ""
	}
	end := strings.IndexAny(line+" ", " \t")
	name, rest = line[:end], strings.TrimSpace(line[end:])
	if name == requiredTag {
		name = requireTag
	}
	return name, rest
}

func (a *annotationReader) line(r *rule, line, inert string) {
	name, rest := annotation(line)
	switch {
	case name == "":
	case name != requireTag && name != validateTag:
		if meant := yamlpos.Suggest(name, []string{requireTag, requiredTag, validateTag}); meant != "" {
			a.warn(r.key, "%q is not an annotation (did you mean %q?)", name, meant)
		}
	case inert != "":
		a.warn(r.key, "%s has no effect %s", name, inert)
	case name == requireTag && rest != "":
		a.warn(r.key, "@require has no effect with text after it: write it on its own line")
	case name == requireTag:
		r.required = true
	case rest == "":
		a.warn(r.key, "@validate has no effect without an expression: write @validate isInt(value)")
	default:
		a.validate(r, rest)
	}
}

func (a *annotationReader) validate(r *rule, source string) {
	c, err := expression.ParseCheck(source)
	if err != nil {
		a.errs.Add(r.failed(source, err, nil))
		return
	}
	r.checks = append(r.checks, c)
}

func (a *annotationReader) warn(n *yamlpos.Node, format string, args ...any) {
	a.found.warnings = append(a.found.warnings, n.Pos()+": "+fmt.Sprintf(format, args...))
}

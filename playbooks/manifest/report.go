package manifest

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Report collects the findings about one file.
type Report struct {
	Errors   yamlpos.Errors
	Warnings []string

	once []string // the texts of [Report.WarnOnce]
}

// Add appends an error; nil is ignored.
func (r *Report) Add(err error) { r.Errors.Add(err) }

// Decode reads n into a struct, or reports what does not fit.
func (r *Report) Decode(n *yamlpos.Node, into any, opts ...yamlpos.Option) {
	r.Add(yamlpos.Decode(n, into, opts...))
}

// Warn adds a possible mistake, once per place: defaults are read with each entry.
func (r *Report) Warn(n *yamlpos.Node, text string) {
	if w := n.Pos() + ": " + text; !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// WarnOnce adds a warning at the first place only.
func (r *Report) WarnOnce(n *yamlpos.Node, text string) {
	if !slices.Contains(r.once, text) {
		r.once = append(r.once, text)
		r.Warn(n, text)
	}
}

// Include appends the findings about another file.
func (r *Report) Include(other *Report) {
	r.Errors = append(r.Errors, other.Errors...)
	r.Warnings = append(r.Warnings, other.Warnings...)
}

// HasErrorAt reports whether there is an error at the position of a node.
func (r *Report) HasErrorAt(n *yamlpos.Node) bool {
	return slices.ContainsFunc(r.Errors, func(e *yamlpos.Error) bool {
		return e.File == n.File && e.Line == n.Line && e.Column == n.Column
	})
}

// Err returns the errors as [Distinct] does. A warning at the place of an error is part of it:
// warnings of files with errors are not printed by themselves.
func (r *Report) Err() error {
	errs := slices.Clone(r.Errors)
	for i, e := range errs {
		for _, warning := range r.Warnings {
			text, here := strings.CutPrefix(warning, e.Pos()+": ")
			if here && !strings.Contains(e.Hint, text) {
				with := *e
				with.Hint = strings.TrimPrefix(e.Hint+"; "+text, "; ")
				errs[i], e = &with, &with
			}
		}
	}
	return Distinct(errs)
}

// Distinct returns the errors sorted, without duplicates; nil without errors. A mistake in defaults is found again in
// every resource that inherits them. Several errors may have the same place.
func Distinct(errs yamlpos.Errors) error {
	sorted, _ := errs.Err().(yamlpos.Errors)
	seen := map[yamlpos.Error]bool{}
	sorted = slices.DeleteFunc(sorted, func(e *yamlpos.Error) bool {
		again := seen[*e]
		seen[*e] = true
		return again
	})
	return sorted.Err()
}

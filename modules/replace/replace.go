package replace

import (
	"cmp"
	"context"
	"errors"
	"regexp"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Replace is an expression and the replacement of all its matches in a file. It follows Ansible's replace, with
// intended exceptions:
//   - a replacement in which the expression matches again is an error, since each run would replace more;
//   - an expression that matches everywhere, such as x*, is an error;
//   - if after or before match nothing, nothing is replaced, and the result has a warning.
type Replace struct {
	Name    string `json:"name" required:"true" doc:"path of the file, or any text if path is given"`
	Path    string `json:"path,omitempty" looks:"^/" doc:"absolute path of the file, without . or .. elements; default: the name"`
	Regexp  string `json:"regexp" required:"true" doc:"regular expression (RE2); each match is replaced, also one of several lines; ^ and $ match at the ends of lines"`
	Replace string `json:"replace,omitempty" doc:"replacement text; \\1 and \\g<name> are groups of the expression, \\n and \\t a line end and a tab, \\\\ a backslash; default: nothing"`
	After   string `json:"after,omitempty" doc:"replace only after the first match of this expression; in it . also matches line ends, and ^ and $ match at the ends of lines; if it matches nothing, a warning is printed"`
	Before  string `json:"before,omitempty" doc:"as after, but replace only before the first match of this expression; with after: before its first match below that"`
	// Validation has this name since Validate is a method of a resource.
	Validation string `json:"validate,omitempty" looks:"%s" doc:"command that looks at the changed file, %s in it, before that is put in place; only if it ends with 0, it is; split as by exec, without a shell"`
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`

	discreet bool // nothing of it may be seen
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "replace",
		Doc: "Replaces each match of a regular expression in a file. The rest of the file, its owner and " +
			"its mode are kept. A file without a match has the desired state.",
		New: func() modules.Resource { return new(Replace) },
	}
}

// Requires implements [modules.Requirer].
func (r *Replace) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (r *Replace) Inform(c modules.Circumstances) { r.discreet = c.Sensitive }

// Validate implements [modules.Resource].
func (r *Replace) Validate() error {
	errs := []error{edit.ValidatePath(r.Name, r.Path)}
	if r.Restore != nil {
		return errs[0]
	}
	re, err := compile("regexp", "(?m)", r.Regexp)
	errs = append(errs, err)
	switch {
	case err != nil || re == nil:
	case re.MatchString(""):
		errs = append(errs, &modules.PropertyError{
			Path: "regexp", Msg: "the expression matches the empty text, so it matches everywhere", Hint: "write x+ in place of x*",
		})
	default:
		_, err = parse(r.Replace, re)
		errs = append(errs, err)
	}
	_, after := compile("after", "(?ms)", r.After)
	_, before := compile("before", "(?ms)", r.Before)
	return errors.Join(append(errs, after, before, r.edited().Validate())...)
}

// compile is [edit.Compile] with flags.
func compile(property, flags, expression string) (*regexp.Regexp, error) {
	if re, err := edit.Compile(property, expression); re == nil {
		return nil, err
	}
	return regexp.MustCompile(flags + expression), nil // a valid expression is also valid with flags
}

// edited is the file, with its edit.
func (r *Replace) edited() *edit.File {
	return &edit.File{
		Path: cmp.Or(r.Path, r.Name), Edit: r.edit, Restore: r.Restore,
		Missing: "make it with a file resource", Validation: r.Validation, Discreet: r.discreet,
	}
}

// Check implements [modules.Resource].
func (r *Replace) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return r.edited().Check(ctx, h)
}

// Apply implements [modules.Resource].
func (r *Replace) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return r.edited().Apply(ctx, h, p)
}

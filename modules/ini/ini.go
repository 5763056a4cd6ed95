package ini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// An Ini is an option in a section of a file. It follows Ansible's ini_file, with intended exceptions:
//   - comments are not changed: an option that is commented out does not count as the option, but marks its place;
//   - new lines are written like the others of the file, with or without blanks at the equals sign;
//   - a value that continues on the next line is refused, not cut in half.
type Ini struct {
	Name      string   `json:"name" required:"true" doc:"path of the file, or any text if path is given"`
	Path      string   `json:"path,omitempty" looks:"^/" doc:"absolute path of the file, without . or .. elements; default: the name"`
	Ensure    string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the option is there; absent without an option: the whole section is not"`
	Section   string   `json:"section,omitempty" doc:"name of the section, without brackets; it is created if it is missing; default: the lines above the first section"`
	Option    string   `json:"option,omitempty" doc:"name of the option, as it is written in the file; required for present"`
	Value     string   `json:"value,omitempty" doc:"its value; default: the empty text"`
	Values    []string `json:"values,omitempty" doc:"values of an option that occurs several times, in this order; instead of value"`
	Exclusive *bool    `json:"exclusive,omitempty" doc:"false: other values of the option are kept, and absent removes only the given values; default: true"`
	Bare      bool     `json:"bare,omitempty" also:"allow_no_value" doc:"the option is a word of its own, without a value"`
	Separator string   `json:"separator,omitempty" doc:"text between a new option and its value, such as \"=\"; default: as at the other options of the section or the file, or \" = \""`
	Create    bool     `json:"create,omitempty" doc:"make the file if it is missing; without it that is an error"`
	Owner     string   `json:"owner,omitempty" with:"create" doc:"name or id of the user that a new file belongs to; an existing file keeps its own; default: the user the play works as"`
	Group     string   `json:"group,omitempty" with:"create" doc:"name or id of its group; default: the group of the user that the play runs as"`
	Mode      string   `json:"mode,omitempty" with:"create" numbers:"refuse" looks:"^(0[oO])?0?[0-7]{3}$" doc:"its permissions in octal, such as \"0644\", which is the default, or 0600 if it is sensitive"`
	// Validation has this name since Validate is a method of a resource.
	Validation string `json:"validate,omitempty" looks:"%s" doc:"command that looks at the changed file, %s in it, before that is put in place; only if it ends with 0, it is; split as by exec, without a shell"`
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`

	discreet bool // nothing of it may be seen
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "ini",
		Doc: "Keeps an option in a section of a file, with one value or several, or keeps it or the section away. " +
			"Comments, other options, their order and their spelling are kept.",
		New: func() modules.Resource { return new(Ini) },
	}
}

// Requires implements [modules.Requirer].
func (i *Ini) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (i *Ini) Inform(c modules.Circumstances) { i.discreet = c.Sensitive }

// Validate implements [modules.Resource].
func (i *Ini) Validate() error {
	errs := []error{edit.ValidatePath(i.Name, i.Path)}
	if i.Restore != nil {
		return errs[0]
	}
	return errors.Join(append(errs, i.validateOption(), i.validateValues(), i.edited().Validate())...)
}

func (i *Ini) validateOption() error {
	errs := []error{modules.ValidateLine("section", i.Section), modules.ValidateLine("option", i.Option)}
	switch {
	case strings.ContainsAny(i.Section, "[]") || strings.TrimSpace(i.Section) != i.Section:
		errs = append(errs, modules.Errorf("section", `section %q has a bracket, or blanks around it`, i.Section))
	case i.Option == "" && i.Ensure != absent:
		errs = append(errs, modules.Errorf("option", `"option" cannot be empty`))
	case i.Option == "" && i.Section == "":
		errs = append(errs, &modules.PropertyError{Path: "option", Msg: `ensure: absent needs "option" or "section"`, Hint: `write "option", or "section" for a whole section`})
	case i.Option == "" && (i.Value != "" || i.Values != nil):
		errs = append(errs, modules.Errorf("value", `"value" needs "option"`))
	}
	if i.Option != "" && (strings.TrimSpace(i.Option) != i.Option || strings.ContainsAny(i.Option[:1], "[#;") || strings.Contains(i.Option, "=")) {
		errs = append(errs, modules.Errorf("option", `option %q begins with one of [, # and ;, has a = or blanks around it`, i.Option))
	}
	return errors.Join(errs...)
}

func (i *Ini) validateValues() error {
	var errs []error
	if i.Value != "" && i.Values != nil {
		errs = append(errs, modules.Errorf("values", "'value' and 'values' are mutually exclusive"))
	}
	if i.Bare && (i.Value != "" || i.Values != nil) {
		errs = append(errs, modules.Errorf("bare", "'bare: true' is only valid without a value"))
	}
	if i.Values != nil && len(i.Values) == 0 && i.Ensure != absent {
		errs = append(errs, &modules.PropertyError{Path: "values", Msg: `"values" cannot be empty`, Hint: "ensure: absent removes an option"})
	}
	if i.Separator != "" && strings.Trim(i.Separator, " \t") != "=" && strings.Trim(i.Separator, " \t") != ":" {
		errs = append(errs, modules.Errorf("separator", `separator %q is not = or :, optionally with blanks around it`, i.Separator))
	}
	line := func(property, value string) {
		errs = append(errs, modules.ValidateLine(property, value))
		if strings.TrimSpace(value) != value || strings.HasSuffix(value, `\`) {
			errs = append(errs, modules.Errorf(property, "%q cannot be stored as one value: it begins or ends with a blank, or ends with a backslash", value))
		}
	}
	line("value", i.Value)
	for n, value := range i.Values {
		line(fmt.Sprintf("values[%d]", n), value)
	}
	return errors.Join(errs...)
}

// values are the wanted values of the option.
func (i *Ini) values() []string {
	if i.Values != nil {
		return i.Values
	}
	return []string{i.Value}
}

// all reports whether the option has no other values.
func (i *Ini) all() bool { return i.Exclusive == nil || *i.Exclusive }

// edited is the file, with its edit.
func (i *Ini) edited() *edit.File {
	return &edit.File{
		Path: cmp.Or(i.Path, i.Name), Edit: i.edit, Restore: i.Restore, Optional: i.Ensure == absent,
		Create: i.Create, Owner: i.Owner, Group: i.Group, Mode: i.Mode,
		Validation: i.Validation, Discreet: i.discreet,
	}
}

// Check implements [modules.Resource].
func (i *Ini) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return i.edited().Check(ctx, h)
}

// Apply implements [modules.Resource].
func (i *Ini) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return i.edited().Apply(ctx, h, p)
}

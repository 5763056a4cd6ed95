package alternatives

import (
	"errors"
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// An Alternatives is one alternative of a name, and whether the name leads to it. Check reads the files of the program,
// so that it starts no program.
type Alternatives struct {
	Name     string `json:"name" required:"true" looks:"^[A-Za-z0-9][A-Za-z0-9_.+-]*$" doc:"the name that has alternatives, such as editor or java"`
	Ensure   string `json:"ensure,omitempty" enum:"selected,present,auto,absent" default:"selected" doc:"selected: path is chosen by hand, so that no package changes it; present: path is one of the alternatives, chosen or not; auto: the alternative with the highest priority is chosen; absent: path is not an alternative"`
	Path     string `json:"path,omitempty" text:"argument" looks:"^/" doc:"absolute path of the program; auto may be without"`
	Link     string `json:"link,omitempty" text:"argument" looks:"^/" doc:"absolute path of the link that programs are started by, such as /usr/bin/editor; an alternative that is not known yet needs it"`
	Priority *int   `json:"priority,omitempty" doc:"priority of the alternative: in auto mode the highest is chosen; default for a new alternative: 50"`
	// Restore is set if the resource undoes another one.
	Restore *Restore `json:"restore,omitempty" wire:"only"`
}

// A Restore is the earlier state of a name, and of one of its alternatives.
type Restore struct {
	Known    bool    `json:"known"`    // path was an alternative
	Priority int     `json:"priority"` // its priority
	Slaves   []slave `json:"slaves,omitempty"`
	Manual   bool    `json:"manual"`
	Selected string  `json:"selected"` // by hand
}

// The values of ensure.
const (
	selected = "selected"
	present  = "present"
	auto     = "auto"
	absent   = "absent"
)

// defaultPriority is the priority of an alternative without a priority.
const defaultPriority = 50

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "alternatives",
		Doc: "Keeps what a common name such as editor leads to, by update-alternatives: a program chosen by hand, or the one of the highest " +
			"priority; and which programs are there to choose from.",
		New: func() modules.Resource { return new(Alternatives) },
	}
}

// Requires implements [modules.Requirer].
func (a *Alternatives) Requires() modules.Requirements {
	return modules.Requirements{FullProgram: true}
}

var nameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`) })

// Validate implements [modules.Resource].
func (a *Alternatives) Validate() error {
	errs := []error{modules.ValidatePath("path", a.Path), modules.ValidatePath("link", a.Link)}
	if a.Name != "" && !nameShape().MatchString(a.Name) {
		errs = append(errs, modules.Errorf("name", "%q is not a valid name for alternatives: use letters, digits, dots, dashes, plus signs and underscores", a.Name))
	}
	if a.Path == "" && a.Ensure != auto {
		errs = append(errs, &modules.PropertyError{Path: "path", Msg: `"path" cannot be empty`, Hint: "name the program, or write ensure: auto"})
	}
	if a.Path == "" && a.Link != "" {
		errs = append(errs, modules.Errorf("link", "'link' is about an alternative, whose path is not given"))
	}
	if a.Path == "" && a.Priority != nil {
		errs = append(errs, modules.Errorf("priority", "'priority' is about an alternative, whose path is not given"))
	}
	return errors.Join(errs...)
}

package seboolean

import (
	"errors"
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A Seboolean is a boolean of the policy: its current value, if SELinux runs, and its stored value.
type Seboolean struct {
	Name       string `json:"name" text:"argument" required:"true" looks:"^[A-Za-z0-9_.-]+$" doc:"the boolean, such as httpd_can_network_connect; getsebool -a lists them"`
	Ensure     string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: the host stores no value for it, so that the policy sets it at boot"`
	Value      *bool  `json:"value,omitempty" doc:"whether it is on; required unless absent"`
	Persistent *bool  `json:"persistent,omitempty" doc:"false: only the running SELinux has the value, until the next boot; default: true"`
	// Live is the value to restore in the running SELinux, if the resource undoes another one.
	Live *bool `json:"live,omitempty" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"

	store = "booleans.local"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "seboolean",
		Doc:  "Keeps a boolean of the SELinux policy on or off: now, where SELinux runs, and at boot.",
		New:  func() modules.Resource { return new(Seboolean) },
	}
}

// Requires implements [modules.Requirer].
func (b *Seboolean) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var nameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })

// Validate implements [modules.Resource].
func (b *Seboolean) Validate() error {
	var errs []error
	if b.Name != "" && !nameShape().MatchString(b.Name) {
		errs = append(errs, modules.Errorf("name", "%q is not a valid boolean: use letters, digits and underscores", b.Name))
	}
	switch {
	case b.Ensure == absent && b.Value != nil:
		errs = append(errs, modules.Errorf("value", "an absent boolean has the value of the policy"))
	case b.Ensure == absent && b.Persistent != nil:
		errs = append(errs, modules.Errorf("persistent", "'persistent' is about a value, and absent has none"))
	case b.Ensure != absent && b.Value == nil:
		errs = append(errs, &modules.PropertyError{Path: "value", Msg: `"value" cannot be empty`, Hint: "write true or false"})
	}
	return errors.Join(errs...)
}

func (b *Seboolean) persistent() bool { return b.Persistent == nil || *b.Persistent }

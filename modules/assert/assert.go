package assert

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// An Assert has conditions over facts, data and results of earlier resources. The controller evaluates them, so a host
// sees only their results.
type Assert struct {
	Name    string `json:"name" required:"true" doc:"the condition in words"`
	That    []bool `json:"that" required:"true" doc:"conditions, each an expression such as \"{{ Facts.host.info.os == 'linux' }}\"; all of them have to be true"`
	Message string `json:"message,omitempty" also:"fail_msg" doc:"message of the failure; default: the name"`
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "assert",
		Doc: "Fails unless all of its conditions are true, in check runs too. Resources that require it are then skipped; " +
			"it changes nothing.",
		New:  func() modules.Resource { return new(Assert) },
		Idle: true,
	}
}

// Validate implements [modules.Resource].
func (a *Assert) Validate() error {
	return modules.ValidateLine("name", a.Name)
}

// Check implements [modules.Resource].
func (a *Assert) Check(context.Context, modules.Host) (modules.Plan, error) {
	for i, holds := range a.That {
		if !holds {
			return modules.Plan{}, fmt.Errorf(`%s: condition %d of "that" is false`, cmp.Or(strings.TrimSpace(a.Message), a.Name), i+1)
		}
	}
	return modules.Plan{}, nil
}

// Apply implements [modules.Resource]: no plan has steps.
func (a *Assert) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// Watch implements [modules.Watcher]: no event of the host matters.
func (a *Assert) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{}, nil
}

type state struct {
	Name string `json:"name"`
	That []bool `json:"that"`
}

// Describe implements [modules.Describer]. As with a command, an assertion itself is always there.
func (a *Assert) Describe(context.Context, modules.Host) (modules.Description, error) {
	return modules.Description{Ensure: "present", Provider: "ccm-push", State: state{a.Name, a.That}}, nil
}

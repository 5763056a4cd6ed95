package exec

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// state has the fields with which CCM's exec type describes the guards. A missing guard is not satisfied.
type state struct {
	Creates bool `json:"creates_satisfied,omitempty"`
	OnlyIf  bool `json:"onlyif_satisfied,omitempty"`
	Unless  bool `json:"unless_satisfied,omitempty"`
}

// Describe implements [modules.Describer]: it runs the guards again. A command is always present, as in CCM.
func (e *Exec) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	var s state
	var err error
	if s.Creates, err = created(h.Files, e.Creates); err != nil {
		return modules.Description{}, err
	}
	if s.OnlyIf, err = e.guard(ctx, h, "onlyif", e.OnlyIf, false); err != nil {
		return modules.Description{}, err
	}
	if s.Unless, err = e.guard(ctx, h, "unless", e.Unless, false); err != nil {
		return modules.Description{}, err
	}
	return modules.Description{Ensure: "present", Provider: e.Provider, State: s, Inline: true}, nil
}

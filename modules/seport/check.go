package seport

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// effect is the kind of effect whose key is a port, and whose state is its record.
const effect modules.EffectKind = "seport"

// A record is the stored record of the port. The zero record means none.
type record struct{ typ, levels string }

// steps are the steps of Apply.
type steps struct {
	system semanage.System
	port   port
	known  bool
	want   record
}

// Check implements [modules.Resource].
func (p *Seport) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	if has, err := semanage.Has(h); err != nil || !has && p.Ensure == absent {
		return modules.Plan{}, err
	}
	system, have, err := p.look(h)
	if err != nil {
		return modules.Plan{}, err
	}
	is, err := p.port()
	if err != nil {
		return modules.Plan{}, err
	}
	want := record{typ: p.Type, levels: p.Range}
	if p.Ensure == absent {
		want = record{}
	} else if want.levels == "" {
		want.levels = have.levels
	}
	if have == want {
		return modules.Plan{}, nil
	}
	if err := semanage.MayChange(h.Files, "semanage"); err != nil {
		return modules.Plan{}, err
	}
	plan := modules.Plan{
		Action: "gave it a type", Steps: steps{system: system, port: is, known: have.typ != "", want: want},
		Effects: append([]modules.Effect{{Kind: effect, Key: is.String(), State: kept(want)}}, system.Differ(effect, store)...),
		// Only semanage knows whether a type is a port type; port types of the policies end with _port_t.
		MayFail: p.Ensure != absent && (p.Range != "" || !strings.HasSuffix(p.Type, "_port_t") || !system.Declares(h.Files, semanage.Typ, p.Type)),
	}
	switch {
	case p.Ensure == absent:
		plan.Action = "left it to the policy"
	case have.typ != "":
		plan.Action = "changed it"
	}
	change := func(property, have, want string) {
		if have != want {
			plan.Changes = append(plan.Changes, modules.Change{Property: property, Have: shown(have), Want: shown(want)})
		}
	}
	change("type", have.typ, want.typ)
	change("range", have.levels, want.levels)
	return plan, nil
}

// kept is the store's form of a record.
func kept(want record) record {
	if want.typ != "" {
		want.levels = cmp.Or(want.levels, "s0")
	}
	return want
}

func shown(value string) string {
	if value == "" {
		return "as the policy has it"
	}
	return value
}

// look returns the stored record of the port, or the predicted one.
func (p *Seport) look(h modules.Host) (semanage.System, record, error) {
	system, err := semanage.Find(h.Files)
	if err != nil {
		return system, record{}, err
	}
	is, err := p.port()
	if err != nil {
		return system, record{}, err
	}
	if state, predicted := h.Forecast.Lookup(effect, is.String()); predicted {
		return system, state.(record), nil
	}
	lines, err := system.Local(h.Files.Knowing(effect), store)
	if err != nil {
		return system, record{}, err
	}
	for _, line := range lines {
		if of, context, ok := parse(line); ok && of == is {
			c := semanage.ParseContext(context)
			return system, record{c.Type, c.Range}, nil
		}
	}
	return system, record{}, nil
}

// Apply implements [modules.Resource].
func (p *Seport) Apply(ctx context.Context, h modules.Host, plan modules.Plan) error {
	do, ok := plan.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a port")
	}
	key := "-p " + do.port.protocol + " " + do.port.numbers()
	if do.want == (record{}) {
		return do.system.Import(ctx, h, "port -d "+key)
	}
	options := "-t " + do.want.typ + " "
	if do.want.levels != "" {
		options += "-r " + do.want.levels + " "
	}
	return do.system.Put(ctx, h, "port", options+key, do.known)
}

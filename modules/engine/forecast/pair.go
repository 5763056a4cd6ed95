package forecast

import "github.com/ccm-push/ccm-push/modules"

// A Pair is the forecasts of a check run. A noop entry will not be carried out, so only
// other noop entries see what it would do.
type Pair struct {
	Will  *Forecast // without the plans of noop entries
	Would *Forecast // and with them: what noop entries see
}

// NewPair is the forecasts before any plan, on top of the real host.
func NewPair(real modules.Host) *Pair { return &Pair{New(real), New(real)} }

// For is the forecast that an entry is checked against.
func (p *Pair) For(noop bool) *Forecast {
	if noop {
		return p.Would
	}
	return p.Will
}

// Begin is told that another catalog begins, whose real host has the folder and the contents
// of its own play. earlier is a resource before it of which it is not known what it has
// done; "" is none.
func (p *Pair) Begin(real modules.Host, earlier string) {
	for _, f := range []*Forecast{p.Will, p.Would} {
		f.real = real
		if earlier != "" {
			f.Record(Plan{Entry: -1, Ref: earlier, Effects: []modules.Effect{modules.Anything}})
		}
		f.Begin()
	}
}

// Record adds a plan to the forecasts of those who shall see it. What has been applied
// needs no forecast, except over plans that were only predicted.
func (p *Pair) Record(plan Plan) {
	if plan.Applied && p.Would.pending == "" {
		return
	}
	plan.Effects = p.For(plan.Noop).Settled(plan.Effects)
	if !plan.Applied && !plan.Noop {
		p.Will.Record(plan)
	}
	p.Would.Record(plan)
}

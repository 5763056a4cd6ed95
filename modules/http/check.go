package http

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// doneEffect is the kind of effect whose key is a guard that will be satisfied.
const doneEffect modules.EffectKind = "http"

// outcome is passed from Check through Apply to Verify.
type outcome struct{ answer answer }

// Check implements [modules.Resource].
func (r *HTTP) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if r.readOnly() {
		a, err := r.send(ctx, h)
		if err == nil {
			if state, err := a.state(); err == nil {
				h.Report.State(modules.State{Before: state})
			}
			err = a.wrong(r.Status, r.Values)
		}
		awaited := ""
		if err != nil {
			awaited = modules.NotYet
		}
		h.Forecast.Lookup(modules.LiveEffect, awaited)
		return modules.Plan{}, err
	}
	done, err := r.done(ctx, h)
	if err != nil || done {
		return modules.Plan{}, err
	}
	return r.plan(fmt.Sprintf("sent %s to %s", r.method(), modules.ShownURL(r.URL))), nil
}

// done reports whether the guard is satisfied, so that there is nothing to do.
func (r *HTTP) done(ctx context.Context, h modules.Host) (bool, error) {
	if r.Unless == "" {
		return false, nil
	}
	if _, predicted := h.Forecast.Lookup(doneEffect, r.guard()); predicted {
		return true, nil
	}
	h.Forecast.Lookup(modules.LiveEffect, modules.NotYet)
	a, err := r.exchange(ctx, h, "GET", r.Unless, "", "")
	if err != nil {
		return false, fmt.Errorf("unless: %w", err)
	}
	return a.wrong(r.UnlessStatus, r.UnlessValues) == nil, nil
}

// guard is a key that differs for different guards.
func (r *HTTP) guard() string { return fmt.Sprint(r.Socket, r.Unless, r.UnlessStatus, r.UnlessValues) }

func (r *HTTP) plan(action string) modules.Plan {
	plan := modules.Plan{Action: action, MayFail: true, Listed: r.Affects != nil, Steps: new(outcome), Command: r.Repeat()} // the server decides
	if r.here() {
		plan.Effects = append(plan.Effects, r.Affects.Effects()...)
	}
	if r.Unless != "" {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: doneEffect, Key: r.guard(), State: true})
	}
	return plan
}

// Repeat implements [modules.Commander]. PUT and DELETE are idempotent (RFC 9110, 9.2.2).
func (r *HTTP) Repeat() modules.Repeat {
	if r.readOnly() {
		return modules.NoCommand
	}
	if r.Unless != "" || r.RefreshOnly || slices.Contains([]string{http.MethodPut, http.MethodDelete}, r.method()) {
		return modules.Repeatable
	}
	return modules.RunsOnce
}

// here reports whether the server is on the host itself, whatever it may do there.
func (r *HTTP) here() bool {
	u, err := url.Parse(r.URL)
	if err != nil {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return r.Socket != "" || u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// Refresh implements [modules.Refresher]: the request is sent whatever the guard's answer. A read-only request has been
// sent already.
func (r *HTTP) Refresh(_ context.Context, _ modules.Host, checked modules.Plan) (modules.Plan, error) {
	if r.readOnly() {
		return checked, nil
	}
	plan := r.plan(fmt.Sprintf("sent %s to %s via subscribe", r.method(), modules.ShownURL(r.URL)))
	plan.Refreshed = true
	return plan, nil
}

// Recurs implements [modules.Recurrer]: without a guard, the request is sent each time.
func (r *HTTP) Recurs(modules.Plan) bool { return r.Unless == "" }

// Apply implements [modules.Resource].
func (r *HTTP) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := r.send(ctx, h)
	if err != nil {
		return err
	}
	if state, err := a.state(); err == nil {
		h.Report.State(modules.State{After: state})
	}
	p.Steps.(*outcome).answer = a
	return nil
}

// Verify implements [modules.Verifier]: the answer was right, and the guard is content.
func (r *HTTP) Verify(ctx context.Context, h modules.Host, p modules.Plan) error {
	if err := p.Steps.(*outcome).answer.wrong(r.Status, r.Values); err != nil {
		return err
	}
	done, err := r.done(ctx, h)
	if err == nil && !done && r.Unless != "" {
		err = fmt.Errorf("the request was sent, but %s does not report the desired state yet", modules.ShownURL(r.Unless))
	}
	return err
}

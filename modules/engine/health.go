package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Limits of the output of health checks, in bytes.
const (
	maxHealthOutput    = 4 << 10 // one check, as in Nagios
	maxAllHealthOutput = 64 << 10
)

// unhealthy is the error of a resource whose health checks are not all OK.
type unhealthy struct {
	text string
	safe string // without what commands have written
}

func (u *unhealthy) Error() string { return u.text }

// Redacted implements [modules.Redactor].
func (u *unhealthy) Redacted() string { return u.safe }

// alsoUnhealthy is the error of a resource that has failed before its health
// checks did.
type alsoUnhealthy struct {
	error
	health *unhealthy
}

func (a *alsoUnhealthy) Error() string { return a.error.Error() + "\n" + a.health.text }

func (a *alsoUnhealthy) Unwrap() []error { return []error{a.error, a.health} }

// Redacted implements [modules.Redactor].
func (a *alsoUnhealthy) Redacted() string { return redacted(a.error) + "\n" + a.health.safe }

// askHealth runs the health checks of the job, whose turn ended with err. A check run runs none while a change is
// pending, which notAsked names: the answer would be about a different state.
func (t *turn) askHealth(ctx context.Context, err error) (notAsked string, _ error) {
	r, j := t.run, t.job
	checks := j.entry.Health
	if len(checks) == 0 || ctx.Err() != nil {
		return "", err
	}
	if j.predicts() {
		if pending := r.forecasts.of(j).Pending(); pending != "" {
			t.said.Message("info", waiting(len(checks))+pending)
			return pending, err
		}
	}
	room, asker := maxAllHealthOutput, healthAsker{r.real.present(modules.Discard{}), r.engine.Rules, r.pause}
	var bad []*unhealthy
	for n := range checks {
		var verdict wire.HealthVerdict
		var complaint *unhealthy
		t.outside(func() { verdict, complaint = asker.ask(ctx, &checks[n]) })
		verdict.Output = excerpt.Of(verdict.Output, min(room, maxHealthOutput))
		room -= len(verdict.Output)
		j.result.Health = append(j.result.Health, verdict)
		if complaint != nil {
			bad = append(bad, complaint)
		}
	}
	if len(bad) == 0 {
		return "", err
	}
	all := &unhealthy{joined(bad, (*unhealthy).Error), joined(bad, (*unhealthy).Redacted)}
	if err != nil {
		return "", &alsoUnhealthy{err, all}
	}
	return "", all
}

// waiting returns the words before the name of the change that health checks wait for.
func waiting(n int) string {
	if n == 1 {
		return "health check not run: it waits for "
	}
	return fmt.Sprintf("%d health checks not run: they wait for ", n)
}

func joined(bad []*unhealthy, text func(*unhealthy) string) string {
	var all []string
	for _, u := range bad {
		all = append(all, text(u))
	}
	return strings.Join(all, "\n")
}

// A healthAsker runs health checks.
type healthAsker struct {
	host  modules.Host
	rules Rules // nil cannot judge any
	pause func(ctx context.Context, d time.Duration) bool
}

// ask runs one health check until it passes, or has used all its tries. A check that cannot run is not tried again.
func (a healthAsker) ask(ctx context.Context, c *wire.HealthCheck) (wire.HealthVerdict, *unhealthy) {
	for v := (wire.HealthVerdict{Tries: 1}); ; v.Tries++ {
		var err error
		v.Status, v.Output, err = a.once(ctx, c)
		switch {
		case err != nil:
			v.Status, v.Output = wire.HealthUnknown, err.Error()
			safe := fmt.Sprintf("health check %q could not be run", c.Name)
			return v, &unhealthy{safe + ": " + err.Error(), safe}
		case v.Status == wire.HealthOK:
			return v, nil
		case v.Tries >= c.Tries, !a.pause(ctx, c.TrySleep):
			safe := fmt.Sprintf("health check status %q (%s)", v.Status, c.Name)
			text := safe
			if said := firstLine(v.Output); said != "" {
				text += ": " + said
			}
			return v, &unhealthy{text, safe}
		}
	}
}

// once runs one try. The output of a command that times out is unknown.
func (a healthAsker) once(ctx context.Context, c *wire.HealthCheck) (wire.Health, string, error) {
	if c.Rules != nil {
		if a.rules == nil {
			return "", "", errors.New("rules of goss need the full host program")
		}
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		status, text, err := a.rules(ctx, a.host, c.Rules)
		if errors.Is(err, context.DeadlineExceeded) {
			return wire.HealthUnknown, unanswered(c), nil
		}
		return status, text, err
	}
	exit, err := a.host.Commands.Probe(ctx, modules.Command{Argv: c.Argv, Timeout: c.Timeout, Home: true})
	if errors.Is(err, modules.ErrTimeout) {
		return wire.HealthUnknown, unanswered(c), nil
	}
	if err != nil {
		return "", "", err
	}
	text := cmp.Or(strings.TrimSpace(exit.Stdout.Text), strings.TrimSpace(exit.Stderr.Text))
	if exit.Code != 0 { // "WARNING" alone would not say where that comes from
		text = cmp.Or(text, fmt.Sprintf("exit status %d", exit.Code))
	}
	statuses := []wire.Health{wire.HealthOK, wire.HealthWarning, wire.HealthCritical}
	if exit.Code < len(statuses) {
		return statuses[exit.Code], text, nil
	}
	return wire.HealthUnknown, text, nil
}

func unanswered(c *wire.HealthCheck) string { return fmt.Sprintf("no answer within %v", c.Timeout) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return excerpt.Of(strings.TrimSpace(line), 500)
}

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource].
func (s *Service) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	t, ok := p.Steps.(*task)
	if !ok {
		return errors.New("the plan is not one of a service")
	}
	t.begun = time.Now()
	t.of = cmp.Or(t.of, s)
	for i := 0; i < len(t.verbs); i++ {
		if err := t.do(ctx, h, t.verbs[i]); err != nil {
			return takeBack(context.WithoutCancel(ctx), h, t, t.verbs[:i], err)
		}
		if t.verbs[i] != reread {
			continue
		}
		more, err := t.reconsider(ctx, h)
		if err != nil {
			return err
		}
		t.verbs = append(t.verbs, more...)
	}
	return nil
}

// takeBack disables and masks again the unit that was enabled and unmasked before a verb failed: a service that does
// not start now must not start at the next boot.
func takeBack(ctx context.Context, h modules.Host, t *task, done []verb, err error) error {
	for _, v := range slices.Backward(done) {
		back, is := map[verb]verb{enable: disable, unmask: mask}[v]
		if !is {
			continue
		}
		u := t.unit
		if back == disable && u.levels == nil {
			u.levels = []string{"default"} // default runlevel of OpenRC
		}
		what := fmt.Sprintf("; %s %s again", back, u.id)
		exit, failed := h.Commands.Run(ctx, modules.Command{Argv: t.manager.command(u, back), Timeout: queryTimeout})
		switch {
		case failed != nil:
			what = fmt.Sprintf("; %s stays in force for the next boot, since %s failed: %v", v, back, failed)
		case exit.Code != 0:
			what = fmt.Sprintf("; %s stays in force for the next boot, since %s failed: %s", v, back, complaint(exit))
		}
		if f, ok := errors.AsType[*failure](err); ok {
			f.text, f.safe = f.text+what, f.safe+what
		} else {
			err = fmt.Errorf("%w%s", err, what)
		}
	}
	return err
}

// reconsider finds further verbs that are needed, now that the manager has read the current unit file.
func (t *task) reconsider(ctx context.Context, h modules.Host) ([]verb, error) {
	u, err := t.manager.look(ctx, h, t.of.Name)
	if err != nil {
		return nil, err
	}
	verbs, err := (&found{t.of, h, t.manager, u}).verbs()
	if err != nil {
		return nil, err
	}
	t.unit = u
	if u.stale {
		h.Report.Message("warning", u.id+": systemd has read its unit file again and still takes it for changed")
	}
	more := slices.DeleteFunc(verbs, func(v verb) bool { return slices.Contains(t.verbs, v) })
	if len(more) > 0 {
		h.Report.Message("info", "the current unit file requires more: "+action(more))
	}
	return more, nil
}

// failed is systemd's state of a unit that has ended with an error.
const failed = "failed"

// do carries out one verb, and waits until it is done.
func (t *task) do(ctx context.Context, h modules.Host, v verb) error {
	timeout, err := t.of.timeout()
	if err != nil {
		return err
	}
	if v == start && t.unit.state == failed {
		// systemd does not start a unit that has failed several times within seconds, even if the cause is fixed
		// (systemd.unit(5), StartLimitBurst). If the count cannot be reset, the start is tried all the same.
		_, _ = h.Commands.Run(ctx, modules.Command{Argv: t.manager.command(t.unit, forgive), Timeout: queryTimeout})
	}
	exit, err := h.Commands.Run(ctx, modules.Command{Argv: t.manager.command(t.unit, v), Timeout: timeout})
	switch {
	case errors.Is(err, modules.ErrTimeout):
		return t.failed(ctx, h, v, fmt.Sprintf("it has not ended within %v", timeout))
	case err != nil:
		return fmt.Errorf("%s %s: %w", v, t.unit.id, err)
	case exit.Code != 0:
		return t.failed(ctx, h, v, complaint(exit))
	case v == enable && t.unit.fileState == "enabled-runtime":
		// Links in both places would need two runs to disable it again.
		_, _ = h.Commands.Run(ctx, modules.Command{Argv: t.manager.command(t.unit, disable), Timeout: timeout})
	}
	return nil
}

// failed returns the error of a verb that had no effect.
func (t *task) failed(ctx context.Context, h modules.Host, v verb, why string) error {
	text := fmt.Sprintf("%s %s: %s", v, t.unit.id, why)
	if !runsPrograms(v) {
		return &failure{text: text, safe: text}
	}
	u, err := t.manager.look(ctx, h, t.of.Name)
	if err != nil {
		u = t.unit
	}
	if u.broken != "" { // in the current unit file
		text = fmt.Sprintf("%s %s: %s", v, t.unit.id, u.broken)
	}
	return &failure{text: text, safe: text, evidence: t.manager.log(ctx, h, u, t.begun)}
}

// settle is how long a service must stay alive to count as started.
const settle = 500 * time.Millisecond

// Verify implements [modules.Verifier]: a second Check, and it sees whether a
// service that has been started stays alive.
func (s *Service) Verify(ctx context.Context, h modules.Host, p modules.Plan) error {
	t, ok := p.Steps.(*task)
	if !ok {
		return errors.New("the plan is not one of a service")
	}
	s = cmp.Or(t.of, s)
	u, err := t.manager.look(ctx, h, s.Name)
	if err != nil {
		return err
	}
	begun := slices.ContainsFunc(t.verbs, func(v verb) bool { return v == start || v == restart || v == reload })
	if begun && u.runs() && !u.oneshot {
		first := u
		if u, err = lookLater(ctx, h, t.manager, s.Name); err != nil {
			return err
		}
		if replaced(first, u) {
			return s.mismatch(ctx, h, t, u, "service keeps being restarted")
		}
	}
	if begun && u.oneshot && u.state == "inactive" && u.result == "success" && !u.unmet && !u.endedRun {
		u.endedRun = true // nothing refers to it, so systemd has forgotten when it ran
		h.Report.Message("warning", "the next run starts "+u.id+" again, because systemd forgets an ended oneshot that nothing refers to; "+
			"set enable: true, or RemainAfterExit=yes in its unit file")
	}
	return s.verify(ctx, h, t, u)
}

// lookLater looks at a unit after it has had time to end.
func lookLater(ctx context.Context, h modules.Host, m manager, name string) (unit, error) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return m.look(ctx, h, name)
	case <-ctx.Done():
		return unit{}, context.Cause(ctx)
	}
}

// replaced reports whether the manager has started a service again while we
// waited.
func replaced(first, then unit) bool { return then.restarts > first.restarts }

// verify reports the properties that still differ, in CCM's words.
func (s *Service) verify(ctx context.Context, h modules.Host, t *task, u unit) error {
	var reasons []string
	add := func(differs bool, have, want string) {
		if differs {
			reasons = append(reasons, fmt.Sprintf("service is %s, expected %s", have, want))
		}
	}
	add(s.Ensure != stopped && !u.runs(), u.condition(), running)
	add(s.Ensure == stopped && !u.stopped(), u.condition(), stopped)
	add(is(s.Enable, true) && !u.enabled(), "disabled", "enabled")
	add(is(s.Enable, false) && !u.disabled(), "enabled", "disabled")
	add(is(s.Masked, true) && !u.masked(), "not masked", "masked")
	add(is(s.Masked, false) && u.masked(), "masked", "unmasked")
	if len(reasons) == 0 {
		return nil
	}
	return s.mismatch(ctx, h, t, u, strings.Join(reasons, ", "))
}

func (s *Service) mismatch(ctx context.Context, h modules.Host, t *task, u unit, text string) error {
	if s.Ensure == stopped || u.runs() && u.restarts == 0 {
		return &failure{text: text, safe: text}
	}
	if u.unmet {
		text += ": a condition of its unit file is not met"
	} else if how := u.ending(); how != "" {
		text += ": " + how
	}
	return &failure{text: text, safe: text, evidence: t.manager.log(ctx, h, u, t.begun)}
}

// ending describes how a unit got into its state.
func (u unit) ending() string {
	switch {
	case u.result == "exit-code":
		return "it ended with exit status " + u.status
	case u.result == "success" && u.state == "inactive":
		return "it ended by itself, with exit status " + u.status
	case u.result != "" && u.result != "success":
		return "it ended by " + u.result
	}
	return ""
}

// failure is the error of a service that has not reached the desired state.
type failure struct {
	text     string
	safe     string   // text, as far as it may be shown of a sensitive resource
	evidence []string // log of the service itself
}

func (f *failure) Error() string {
	if len(f.evidence) == 0 {
		return f.text
	}
	return f.text + "; its log ends with:\n  " + strings.Join(f.evidence, "\n  ")
}

// Redacted implements [modules.Redactor]: logs of services may contain anything.
func (f *failure) Redacted() string { return f.safe }

package service

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// slow is a manager that reads changed unit files only on a reload, as old ones do.
type slow struct {
	manager
	reread unit
	ran    []verb
}

func (m *slow) look(context.Context, modules.Host, string) (unit, error) { return m.reread, nil }

func (m *slow) command(_ unit, v verb) []string {
	m.ran = append(m.ran, v)
	return []string{"true"}
}

// said collects messages.
type said struct {
	modules.Reporter
	lines []string
}

func (s *said) Message(level, text string) { s.lines = append(s.lines, level+": "+text) }

func TestRereadAsksForMore(t *testing.T) {
	yes := true
	for _, tc := range []struct {
		name   string
		reread unit
		ran    []verb
		said   []string
		err    string
	}{
		{"as it was", unit{id: "a.service", state: "active", fileState: "static"}, []verb{reread}, nil, ""},
		{
			"it can be enabled", unit{id: "a.service", state: "active", fileState: "disabled"}, []verb{reread, enable},
			[]string{"info: the current unit file requires more: enabled"}, "",
		},
		{
			"it runs no longer", unit{id: "a.service", state: "inactive", fileState: "disabled"}, []verb{reread, enable, start},
			[]string{"info: the current unit file requires more: started and enabled"}, "",
		},
		{
			"still not read", unit{id: "a.service", state: "active", fileState: "static", stale: true}, []verb{reread},
			[]string{"warning: a.service: systemd has read its unit file again and still takes it for changed"}, "",
		},
		{
			"it is masked", unit{id: "a.service", state: "inactive", fileState: "masked"}, []verb{reread}, nil,
			"service a.service is masked, so it cannot be started; write masked: false as well",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &Service{Name: "a", Ensure: running, Enable: &yes, Timeout: "90s"}
			m, report := &slow{reread: tc.reread}, &said{}
			h := modtest.Host()
			h.Report = report
			before := unit{id: "a.service", state: "active", fileState: "static", stale: true}
			err := s.Apply(t.Context(), h, modules.Plan{Steps: &task{manager: m, unit: before, verbs: []verb{reread}}})
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tc.ran, m.ran)
			require.Equal(t, tc.said, report.lines)
		})
	}
}

// refusingManager is a systemd of which some verbs are refused; it notes all of them.
type refusingManager struct {
	modules.Commands
	refuses []string
	ran     *[]string
}

func (r refusingManager) Run(_ context.Context, c modules.Command) (modules.Exit, error) {
	verb := c.Argv[4]
	*r.ran = append(*r.ran, verb)
	if slices.Contains(r.refuses, verb) {
		return modules.Exit{Code: 1, Stderr: modules.Output{Text: "refused by the test"}}, nil
	}
	return modules.Exit{}, nil
}

func (refusingManager) Probe(context.Context, modules.Command) (modules.Exit, error) {
	return modules.Exit{}, nil
}

// TestRefusedStart enables nothing for the next boot that could not be started.
func TestRefusedStart(t *testing.T) {
	for _, test := range []struct {
		verbs   []verb
		refuses []string
		ran     []string
		says    string
	}{
		{[]verb{enable, start}, []string{"start"}, []string{"enable", "start", "disable"}, "; disable a.service again"},
		{[]verb{unmask, enable, start}, []string{"start"}, []string{"unmask", "enable", "start", "disable", "mask"}, "; mask a.service again"},
		{[]verb{enable, start}, []string{"enable"}, []string{"enable"}, "refused by the test"},
		{[]verb{enable, start}, []string{"start", "disable"}, []string{"enable", "start", "disable"}, "enable stays in force for the next boot"},
	} {
		var ran []string
		h := modtest.Host()
		h.Commands = refusingManager{h.Commands, test.refuses, &ran}
		s := &Service{Name: "a", Timeout: "90s"}
		err := s.Apply(t.Context(), h, modules.Plan{Steps: &task{manager: systemd{}, unit: unit{id: "a.service"}, verbs: test.verbs}})
		require.ErrorContains(t, err, test.says)
		require.Equal(t, test.ran, ran)
	}
}

// TestVerifyOneshot uses units of Type=oneshot that systemd remembers, and some that it forgets when they end, because
// nothing refers to them.
func TestVerifyOneshot(t *testing.T) {
	const forgotten = "warning: the next run starts a.service again, because systemd forgets an ended oneshot that nothing refers to; " +
		"set enable: true, or RemainAfterExit=yes in its unit file"
	ended := unit{id: "a.service", oneshot: true, state: "inactive", result: "success"}
	with := func(change func(*unit)) unit { u := ended; change(&u); return u }
	for _, tc := range []struct {
		name string
		verb verb
		unit unit
		said []string
	}{
		{"forgotten", start, ended, []string{forgotten}},
		{"forgotten, restarted", restart, ended, []string{forgotten}},
		{"remembered", start, with(func(u *unit) { u.endedRun = true }), nil},
		{"remains", start, unit{id: "a.service", state: "active"}, nil},
		{"still runs", start, with(func(u *unit) { u.state = "active" }), nil},
		{"not started by this run", enable, with(func(u *unit) { u.endedRun = true }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &Service{Name: "a", Ensure: running, Timeout: "90s"}
			report := &said{}
			h := modtest.Host()
			h.Report = report
			plan := modules.Plan{Steps: &task{manager: &slow{reread: tc.unit}, unit: tc.unit, verbs: []verb{tc.verb}}}
			require.NoError(t, s.Verify(t.Context(), h, plan))
			require.Equal(t, tc.said, report.lines)
		})
	}
}

package modtest_test

import (
	"context"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// A setting is a type as a newcomer writes it: a value that a program reports and changes. Its mistake is the part that
// it forgets.
type setting struct {
	Name    string `json:"name" required:"true" doc:"absolute path of the file that holds the value"`
	Value   string `json:"value" required:"true" doc:"what it shall be"`
	mistake string
}

const settingEffect modules.EffectKind = "setting"

func settingType(mistake string) modules.Type {
	return modules.Type{Name: "setting", New: func() modules.Resource { return &setting{mistake: mistake} }}
}

func (s *setting) Validate() error { return nil }

func (s *setting) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	have, err := s.have(ctx, h)
	if err != nil || have == s.Value {
		return modules.Plan{}, err
	}
	plan := modules.Plan{
		Action:  "set",
		Changes: []modules.Change{{Property: "value", Have: have, Want: s.Value}},
		Effects: append([]modules.Effect{{Kind: settingEffect, Key: s.Name, State: s.Value}}, modules.Differ(settingEffect, s.Name)...),
	}
	switch s.mistake {
	case "tells no effect":
		plan.Effects = plan.Effects[1:]
	case "does not declare the file":
		plan.Effects = plan.Effects[:1]
	case "declares another file as well":
		plan.Effects = append(plan.Effects, modules.Differ(settingEffect, s.Name+".old")...)
	}
	return plan, nil
}

func (s *setting) have(ctx context.Context, h modules.Host) (string, error) {
	if value, predicted := h.Forecast.Lookup(settingEffect, s.Name); predicted && s.mistake != "asks the file" {
		return value.(string), nil
	}
	if s.mistake == "asks the file" {
		file, err := h.Files.Knowing(settingEffect).Open(s.Name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		text, err := io.ReadAll(file)
		return strings.TrimSpace(string(text)), err
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"cat", s.Name}, Reads: settingEffect})
	return strings.TrimSpace(exit.Stdout.Text), err
}

func (s *setting) Apply(ctx context.Context, h modules.Host, _ modules.Plan) error {
	_, err := h.Commands.Run(ctx, modules.Command{Argv: []string{"cp", "/dev/stdin", s.Name}, Stdin: s.Value})
	return err
}

// settingConverges is the suite over a type with a mistake.
func settingConverges(t *testing.T, mistake string) {
	tree := []modtest.Node{{Path: "a", Text: "0"}}
	modtest.Converges(t, settingType(mistake),
		modtest.Fixture{Name: "right", Tree: tree, Properties: `{"name":"$ROOT/a","value":"0"}`},
		modtest.Fixture{
			Name: "another value", Tree: tree, Properties: `{"name":"$ROOT/a","value":"1"}`,
			Action: "set", Changes: []modules.Change{{Property: "value", Have: "0", Want: "1"}},
		},
	)
}

// TestSettingPredicts checks that the type without a mistake forecasts its own changes.
func TestSettingPredicts(t *testing.T) {
	step := modtest.Step{Type: "setting", Properties: `{"name":"$ROOT/a","value":"1"}`}
	modtest.Predicts(t, modules.Registry{settingType("")}, modtest.Scenario{
		Tree: []modtest.Node{{Path: "a", Text: "0"}}, Steps: []modtest.Step{step, step}, Want: []string{"changed", "stable"},
	})
}

const mistaken = "CCM_PUSH_MISTAKE"

// TestConvergesFindsMistakes has the suite fail, in a process of its own, on types that
// do all else right.
func TestConvergesFindsMistakes(t *testing.T) {
	if mistake, inside := os.LookupEnv(mistaken); inside {
		settingConverges(t, mistake)
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const two = "two equal resources"
	for mistake, want := range map[string]string{"": "", "asks the file": two, "tells no effect": two,
		"does not declare the file": "/a, which is not within the effects of the plan", "declares another file as well": "plans declare $ROOT/a.old, and no fixture changes anything there"} {
		cmd := osexec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
		cmd.Env = append(os.Environ(), mistaken+"="+mistake)
		out, err := cmd.CombinedOutput()
		if mistake == "" {
			require.NoError(t, err, "%s", out)
			continue
		}
		require.Error(t, err, "%s\n%s", mistake, out)
		failures := map[bool]int{true: 3, false: 2}[want == two]
		if strings.HasPrefix(want, "plans declare") {
			failures = 1
		}
		require.Contains(t, string(out), want, mistake)
		require.Equal(t, want == two, strings.Contains(string(out), "--- FAIL: "+t.Name()+"/another_value/twice"), mistake)
		require.Equal(t, failures, strings.Count(string(out), "--- FAIL"), "nothing else is wrong with it:\n%s", out)
	}
}

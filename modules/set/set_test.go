package set_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/set"
)

func TestConverges(t *testing.T) {
	modtest.Converges(t, set.Type(),
		modtest.Fixture{Name: "set", Properties: `{"name":"x"}`},
		modtest.Fixture{Name: "only on a refresh", Properties: `{"name":"x","refreshonly":true}`},
	)
}

func TestValidate(t *testing.T) {
	require.EqualError(t, (&set.Set{Name: "a\nb"}).Validate(), `name: "name" must be one line, without NUL bytes`)
	require.NoError(t, (&set.Set{Name: "x", Data: map[string]any{"a": 1}}).Validate())
}

// TestRefreshes holds that a refresh is a change only if the values are set because of it.
func TestRefreshes(t *testing.T) {
	for _, c := range []struct {
		set  set.Set
		want modules.Plan
	}{
		{set.Set{Name: "x"}, modules.Plan{}},
		{set.Set{Name: "x", Event: modules.Event{RefreshOnly: true}}, modules.Plan{Action: "set the values", Refreshed: true}},
	} {
		plan, err := c.set.Refresh(t.Context(), modtest.Host(), modules.Plan{})
		require.NoError(t, err)
		require.Equal(t, c.want, plan)
	}
}

func TestDescribe(t *testing.T) {
	res := modtest.Decode(t, modules.Registry{set.Type()}, "set", `{"name":"x"}`, "")
	modtest.Describes(t, modtest.Host(), res, `{"ensure":"present","name":"x"}`)
}

package builtin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestEvents has every type that can be refreshed be an event: without a notification it does not look at the host.
func TestEvents(t *testing.T) {
	properties := map[string]string{
		"exec":    `{"name":"touch /x","refreshonly":true}`,
		"http":    `{"name":"a","url":"http://127.0.0.1:1/","method":"POST","unless":"http://127.0.0.1:1/","refreshonly":true}`,
		"set":     `{"name":"a","refreshonly":true}`,
		"service": `{"name":"a","action":"stop","refreshonly":true}`,
		"mount":   `{"name":"/x","refreshonly":true}`,
		"reboot":  `{"name":"a","refreshonly":true}`,
	}
	for _, typ := range builtin.Types() {
		if _, refreshes := typ.New().(modules.Refresher); !refreshes {
			require.False(t, typ.HasProperty("refreshonly"), typ.Name)
			continue
		}
		require.True(t, typ.HasProperty("refreshonly"), "%s: embed modules.Event", typ.Name)
		require.Contains(t, properties, typ.Name, "add its properties to this test")
		res, err := builtin.Types().Decode(typ.Name, []byte(properties[typ.Name]))
		require.NoError(t, err)
		require.True(t, modules.IsEvent(res))
		plan, err := modules.Compare(t.Context(), res, modules.Host{}) // any access would panic
		require.NoError(t, err, typ.Name)
		require.False(t, plan.Pending())
	}
}

// TestEventsRunTheirGuards: as in CCM, a guard that cannot start is a failure, also if nothing has notified the command.
func TestEventsRunTheirGuards(t *testing.T) {
	res, err := builtin.Types().Decode("exec", []byte(`{"name":"a","refreshonly":true,"onlyif":"/nonesuch"}`))
	require.NoError(t, err)
	refused := errors.New("refused")
	h := modules.Host{Commands: refusing{refused}}
	_, err = modules.Compare(t.Context(), res, h)
	require.ErrorIs(t, err, refused)
}

// refusing are commands that do not start.
type refusing struct{ err error }

func (r refusing) Probe(context.Context, modules.Command) (modules.Exit, error) {
	return modules.Exit{}, r.err
}
func (r refusing) Run(context.Context, modules.Command) (modules.Exit, error) {
	return modules.Exit{}, r.err
}

package modules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestAffects(t *testing.T) {
	all := modules.Affects{"/srv/a/", "service#web", "package#nginx"}
	require.NoError(t, all.Validate())
	require.Equal(t, []modules.Effect{
		{Kind: modules.DiffersEffect, Key: "/srv/a", State: modules.EffectKind("")}, {Kind: modules.BelowEffect, Key: "/srv/a"},
		{Kind: modules.KindEffect, Key: "unit"}, {Kind: modules.KindEffect, Key: "package"}, modules.Elsewhere,
	}, all.Effects())
	require.Equal(t, []modules.Effect{modules.Elsewhere}, modules.Affects{}.Effects(), "nothing that is known")
	require.Equal(t, []modules.Effect{modules.Anything}, modules.Affects(nil).Effects())
	for _, wrong := range []string{"srv/a", "user#app", "service#", "", "/a\x00b"} {
		require.Error(t, modules.Affects{"/srv/a", wrong}.Validate(), "%q", wrong)
	}
}

package keys

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// limited is a type with a property that is called as a key of every type is.
type limited struct {
	modules.Resource
	Name  string `json:"name" required:"true" doc:"its name"`
	Limit string `json:"limit" doc:"its own"`
	Group string `json:"group" also:"alias" doc:"its own"`
}

func TestCommon(t *testing.T) {
	own := modules.Type{Name: "limited", New: func() modules.Resource { return new(limited) }}
	file, _ := builtin.Types().Lookup("file")
	for _, c := range []struct {
		of   modules.Type
		key  string
		want bool
	}{
		{file, "limit", true}, {file, "require", true}, {file, "mode", false}, {file, "name", false}, {file, "requrie", false},
		{own, "limit", false}, {own, "retry", true}, {own, "alias", true}, {own, "group", false},
	} {
		require.Equal(t, c.want, Common(c.of, c.key), "%s.%s", c.of.Name, c.key)
	}
}

// Embedded keys are among the keys, in their place.
func TestNames(t *testing.T) {
	require.Subset(t, OfResource, OfMeta)
	require.NotContains(t, OfResource, "Meta")
	require.Subset(t, OfPlay, OfNested)
	require.Equal(t, []string{"fail_on_error", "pre_message", "post_message", "resources", "resources_jet_file"}, OfCCM)
}

package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// FuzzLookup holds the walk along plain paths against gjson.
func FuzzLookup(f *testing.F) {
	for _, path := range []string{"facts.host.info.os", "data.list.1", "data.list.#", "data.a.b", "", ".", "data..x", "data.users.#(id>1).name",
		"data.list.-1", "data.list.01", "data.nothing.x", "environ.HOME", "item", "Facts", "data.huge", "data.big", "data.whole", "data.nested.with space"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		env := templatetest.Host(nil)
		value, found, err := env.Lookup(path)
		if err != nil {
			return
		}
		if !found {
			require.Error(t, env.MissingKey(path))
			return
		}
		if _, plainly := render.PlainPath(path); !plainly {
			return
		}
		snapshot, err := env.JSON()
		require.NoError(t, err)
		result := gjson.GetBytes(snapshot, path)
		if !result.Exists() { // gjson does not know the names of fields
			require.Regexp(t, `^facts\..*\.[A-Z]`, path)
			return
		}
		same, err := render.FromResult(result)
		require.NoError(t, err)
		value, err = render.PlainCopy(nil, value)
		require.NoError(t, err)
		require.Equal(t, same, value, path)
	})
}

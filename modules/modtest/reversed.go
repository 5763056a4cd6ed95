package modtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// reversed applies the fixture to a type that can undo it, and then applies the reversal: the state before is restored,
// and Check finds the same to do as in the beginning. Changes that the type refuses to undo need tests of the type.
func (f *Fixture) reversed(t *testing.T, typ modules.Type) {
	root, res := f.build(t, typ)
	h := Host()
	reverser, ok := res.(modules.Reverser)
	_, in := res.(*rooted)
	if first := reflect.TypeOf(res).Elem().Field(0); !ok || first.Anonymous && !in || reorders[typ.Name] { // a resource on a host of the test's own
		return
	}
	require.NotEmpty(t, reverser.Subject())
	before, untouched := f.state(t, root), Snapshot(t, root)
	plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	properties, err := reverser.Reversal(t.Context(), modules.ReadOnly(h), nil)
	require.Equal(t, untouched, Snapshot(t, root), "Reversal has changed something")
	if err != nil {
		return
	}
	require.NoError(t, res.Apply(t.Context(), h, plan))
	back := reversalOf(t, res, properties)
	undo, err := back.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	if undo.Pending() {
		require.NoError(t, back.Apply(t.Context(), h, undo))
		converged(t, h, back, undo)
	}
	after := f.state(t, root)
	for _, state := range []map[string]Seen{before, after} {
		maps.DeleteFunc(state, func(name string, _ Seen) bool {
			stays, err := path.Match(f.Stays, name)
			require.NoError(t, err)
			return stays
		})
	}
	require.Equal(t, before, after)
	again, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	if f.Past {
		return
	}
	require.Equal(t, plan.Action, again.Action)
	require.Subset(t, plan.Changes, again.Changes) // the home of a user stays
}

// reorders lists types whose program writes files in an order and layout of its own, or records its calls. The tests of these types
// compare the restored state.
var reorders = map[string]bool{"seport": true, "seboolean": true, "fcontext": true, "container": true}

// Undone applies resources one after the other, as runs do while one resource of a manifest changes. Then it applies the
// resource that undoes all of them, and requires that the tree below root is unchanged.
func Undone(t *testing.T, root string, resources ...modules.Reverser) {
	t.Helper()
	h := Host()
	before := State(t, root)
	var kept modules.Resource
	for _, r := range resources {
		res := r.(modules.Resource)
		plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
		require.NoError(t, err)
		back, err := r.Reversal(t.Context(), modules.ReadOnly(h), kept)
		require.NoError(t, err)
		require.NoError(t, res.Apply(t.Context(), h, plan))
		if back != nil {
			kept = reversalOf(t, res, back)
		}
	}
	plan, err := kept.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.NoError(t, kept.Apply(t.Context(), h, plan))
	require.Equal(t, before, State(t, root))
	converged(t, h, kept, plan)
}

// UndoneOn is [Undone] for resources that see a new tree as the host.
func UndoneOn[T any, P interface {
	*T
	modules.Resource
}](t *testing.T, tree []Node, resources []T) {
	t.Helper()
	root := Root(t)
	Build(t, root, tree)
	var all []modules.Reverser
	for i := range resources {
		all = append(all, In(root, P(&resources[i])))
	}
	Undone(t, root, all...)
}

// reversalOf makes the resource that undoes another one, from JSON as a host keeps it. It does not request it from the
// type, since a type of a test may then start its host again.
func reversalOf(t *testing.T, res modules.Resource, properties map[string]any) modules.Resource {
	t.Helper()
	back := reflect.New(reflect.TypeOf(res).Elem()).Interface().(modules.Resource)
	outer, in := res.(*rooted)
	if in {
		res = outer.whole
		back = reflect.New(reflect.TypeOf(res).Elem()).Interface().(modules.Resource)
		if outer.fresh != nil {
			back = outer.fresh()
		}
	}
	var named struct {
		Name string `json:"name"`
	}
	text, err := json.Marshal(res)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &named))
	properties["name"] = named.Name
	text, err = json.Marshal(properties)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(back))
	modules.SetDefaults(back)
	require.NoError(t, modules.CheckTags(back))
	require.NoError(t, back.Validate())
	if in {
		return &rooted{whole: back.(whole), tree: outer.tree}
	}
	return back
}

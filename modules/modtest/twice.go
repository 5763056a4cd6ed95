package modtest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// twice makes a check run of a catalog that has the resource twice, which must change nothing, and then the real run. A
// type whose Check ignores the forecast of its own plans predicts the second resource as if the first one did nothing.
func (f *Fixture) twice(t *testing.T, typ modules.Type) {
	root, res := f.build(t, typ)
	untouched := Snapshot(t, root)
	predicted := f.both(t, typ, res, root, true)
	require.Equal(t, untouched, Snapshot(t, root), "the check run has changed something")
	comeTrue(t, predicted, f.both(t, typ, res, root, false), "two equal resources: Check has to ask for what "+
		"earlier plans of its type will have done (docs/internals/adding-a-type.md#effects-of-earlier-plans)")
}

// both returns the results of two copies of the resource in one catalog. They are not decoded one by one, since the
// type of a test may then start its host again.
func (f *Fixture) both(t *testing.T, typ modules.Type, res modules.Resource, root string, check bool) []*wire.Result {
	entry := wire.Entry{Type: typ.Name, Name: f.Name, Properties: json.RawMessage(expand(f.Properties, root))}
	decode := func(*wire.Entry) (modules.Resource, error) {
		one := reflect.New(reflect.TypeOf(res).Elem())
		one.Elem().Set(reflect.ValueOf(res).Elem())
		return one.Interface().(modules.Resource), nil
	}
	return carriedOut(t, decode, &wire.Catalog{Check: check, Entries: []wire.Entry{entry, entry}})
}

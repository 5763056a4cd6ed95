package manifest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// propertySet reads properties of a type from YAML; the name is at 9:9.
func propertySet(t testing.TB, typeName, props string) PropertySet {
	of, ok := builtin.Types().Lookup(typeName)
	require.True(t, ok, typeName)
	documents, err := yamlpos.Parse("site.yaml", []byte(props))
	require.NoError(t, err)
	return PropertySet{Type: of, Name: &yamlpos.Node{File: "site.yaml", Line: 9, Column: 9, Text: "/a", Value: "/a"}, Node: documents[0]}
}

func TestPlace(t *testing.T) {
	exec := propertySet(t, "exec", "{environment: [A=1, B], command: x, returns: [0]}")
	dsc := propertySet(t, "dsc", "{type: A/B, properties: {user: {a.b: [x, {c: 1}]}, user.x: 2}}")
	for _, c := range []struct {
		of   PropertySet
		err  modules.PropertyError
		want string
	}{
		{exec, modules.PropertyError{Path: "environment", Msg: "environment is wrong"}, "site.yaml:1:15: environment is wrong"},
		{exec, modules.PropertyError{Path: "environment[1]", Msg: "is wrong", Hint: "mend it"}, "site.yaml:1:21: environment[1]: is wrong\n  hint: mend it"},
		{exec, modules.PropertyError{Path: "environment[2]", Msg: "environment is wrong"}, "site.yaml:1:15: environment is wrong"},
		{exec, modules.PropertyError{Path: "cwd", Msg: "cwd is missing"}, "site.yaml:9:9: cwd is missing"},
		{exec, modules.PropertyError{Path: "name", Msg: "is wrong"}, "site.yaml:9:9: name: is wrong"},
		{dsc, modules.PropertyError{Path: "properties.user.a.b[1].c", Msg: "is wrong"}, "site.yaml:1:46: properties.user.a.b[1].c: is wrong"},
		{dsc, modules.PropertyError{Path: "properties.user.x", Msg: "is wrong"}, "site.yaml:1:60: properties.user.x: is wrong"},
		{dsc, modules.PropertyError{Path: "properties.nobody", Msg: "is wrong"}, "site.yaml:1:25: properties.nobody: is wrong"},
		{dsc, modules.PropertyError{Path: "properties", Msg: "properties has none", Unknown: "user", Known: []string{"users"}},
			"site.yaml:1:26: properties has none\n  hint: did you mean \"users\"?"},
	} {
		require.EqualError(t, c.of.Place(&c.err), c.want)
	}
	require.NoError(t, exec.Place(nil))
	require.EqualError(t, exec.Place(errors.New("about no property")), "site.yaml:9:9: about no property")
}

func TestHas(t *testing.T) {
	dsc := propertySet(t, "dsc", "{type: A/B, properties: {user: {a.b: [x]}}}")
	for path, want := range map[string]bool{
		"properties": true, "properties.user": true, "properties.user.a.b": true, "properties.user.a.b[0]": true,
		"properties.user.a.b[1]": false, "properties.size": false, "version": false, "properties.user.a": false,
	} {
		require.Equal(t, want, dsc.Has(path), path)
	}
}

func TestSpellings(t *testing.T) {
	file := propertySet(t, "file", "{contents: x, mode: '0644'}")
	require.Equal(t, "content", CanonicalProperty(file.Type, "contents"))
	require.Equal(t, "nobody", CanonicalProperty(file.Type, "nobody"))
	require.Equal(t, "x", file.Get("content").Text)
	require.Nil(t, file.Get("contents"), "it is asked for by its first spelling")
	require.True(t, file.Type.HasProperty("contents"))
	require.False(t, file.Type.HasProperty("require"))
}

func TestCheckTexts(t *testing.T) {
	p := PartialSet{PropertySet: propertySet(t, "file", "{ensure: presnt, owner: root}"), Open: func(*yamlpos.Node) bool { return false }}
	require.ErrorContains(t, p.CheckTexts(), "site.yaml:1:10: ensure")
	p.Open = func(n *yamlpos.Node) bool { return n.Text == "presnt" }
	require.NoError(t, p.CheckTexts())
}

// TestWhatIsCertainIsSo uses random properties, some of them open: each certain error also occurs with each of the
// values that they could have.
func TestWhatIsCertainIsSo(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	pools := map[string]map[string][]string{
		"file": {
			"ensure": {"present", "absent", "directory"}, "content": {"x"}, "source": {"a.conf"}, "owner": {"root"}, "group": {"root"},
			"mode": {"'0644'", "'0999'"}, "force": {"true"},
		},
		"exec": {"command": {"x"}, "provider": {"posix", "shell"}, "refreshonly": {"true"}, "environment": {"[A=1]", "[B]"}, "returns": {"[0, 300]"}, "creates": {"/x", "x"}},
	}
	none := func(*yamlpos.Node) bool { return false }
	found := 0
	for range 2000 {
		typeName := []string{"file", "exec"}[rng.IntN(2)]
		text, opened := "{", map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(pools[typeName])) {
			if rng.IntN(2) == 0 {
				continue
			}
			values := pools[typeName][name]
			text += name + ": " + values[rng.IntN(len(values))] + ", "
			opened[name] = rng.IntN(3) == 0 && len(values) != 2 // excludes properties whose values are not among the samples
		}
		s := propertySet(t, typeName, text+"}")
		certain := PartialSet{PropertySet: s, Open: func(n *yamlpos.Node) bool {
			return slices.ContainsFunc(s.Node.Pairs, func(pair yamlpos.Pair) bool { return pair.Value == n && opened[pair.Key.Text] })
		}}.Certain()
		closed := PartialSet{PropertySet: s, Open: none}.Certain()
		for _, pe := range certain {
			found++
			require.Contains(t, closed, pe, text)
		}
	}
	require.Greater(t, found, 500)
}

// FuzzPlace uses any path: the error is placed in the properties, or at the name.
func FuzzPlace(f *testing.F) {
	for _, path := range []string{"", "name", "properties", "properties.user.a.b[0]", "properties[", "properties.[0]", "properties.user.a.b[99999999999999999999]", "[0]", "..", "properties ."} {
		f.Add(path)
	}
	s := propertySet(f, "dsc", "{type: A/B, properties: {user: {a.b: [x, {c: 1}]}, \"\": {\"[\": 1}}}")
	f.Fuzz(func(t *testing.T, path string) {
		s.Has(path)
		e, ok := errors.AsType[*yamlpos.Error](s.Place(&modules.PropertyError{Path: path, Msg: "is wrong"}))
		require.True(t, ok)
		require.Contains(t, []int{1, 9}, e.Line)
	})
}

package reference

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

func at(line int, text string) *yamlpos.Node {
	return &yamlpos.Node{File: "site.yaml", Line: line, Column: 1, Text: text, Value: text}
}

// resource returns a resource of a type; refs go into the list that o defines.
func resource(line int, typeName, name string, o Order, refs ...string) Resource {
	t, _ := builtin.Types().Lookup(typeName)
	r := Resource{Type: t, Name: at(line, name), Names: []string{name}}
	if len(refs) > 0 {
		list := List{Order: o}
		for _, ref := range refs {
			list.Refs = append(list.Refs, at(line, ref))
		}
		r.Lists = []List{list}
	}
	return r
}

func receiver(line int, name, value string) Resource {
	r := resource(line, "exec", name, Require)
	r.Recv = []*yamlpos.Node{at(line, value)}
	return r
}

func with(r Resource, change func(*Resource)) Resource {
	change(&r)
	return r
}

func TestCheck(t *testing.T) {
	a, applied := resource(1, "exec", "a", Require), resource(3, "apply", "n.yaml", Require)
	applied.Applies, applied.Within = true, 1
	for _, c := range []struct {
		name           string
		all            []Resource
		written, graph string
	}{
		{"an earlier one", []Resource{a, resource(2, "exec", "b", Require, "exec#a")}, "", ""},
		{"a later one", []Resource{resource(1, "exec", "b", Require, "exec#a"), resource(2, "exec", "a", Require)},
			"site.yaml:1:1: exec#a is defined later, at line 2\n  hint: move exec#a above this resource: resources run in the order written", ""},
		{"a later one, from there", []Resource{resource(1, "exec", "b", Before, "exec#a"), resource(2, "exec", "a", Require)}, "", ""},
		{"an earlier one, from there", []Resource{a, resource(2, "exec", "b", Before, "exec#a")},
			"site.yaml:2:1: exec#a comes earlier, at line 1\n  hint: resources run in the order written: move exec#b above exec#a, or set strategy: graph on the play", ""},
		{"no such resource", []Resource{a, resource(2, "exec", "b", Require, "exec#token")},
			"site.yaml:2:1: no resource is called exec#token", "site.yaml:2:1: no resource is called exec#token"},
		{"none of the type", []Resource{a, resource(2, "exec", "b", Require, "file#a")},
			"site.yaml:2:1: no resource is called file#a\n  hint: did you mean exec#a?", "site.yaml:2:1: no resource is called file#a\n  hint: did you mean exec#a?"},
		{"no type", []Resource{resource(1, "exec", "b", Require, "exce#a")},
			"site.yaml:1:1: unknown resource type \"exce\"\n  hint: did you mean \"exec\"?", "site.yaml:1:1: unknown resource type \"exce\"\n  hint: did you mean \"exec\"?"},
		{"no name", []Resource{resource(1, "exec", "b", Require, "exec#")},
			"site.yaml:1:1: \"exec#\" is not a reference to a resource\n  hint: write TYPE#NAME, such as file#/etc/motd", "site.yaml:1:1: \"exec#\" is not a reference to a resource\n  hint: write TYPE#NAME, such as file#/etc/motd"},
		{"itself", []Resource{resource(1, "exec", "b", Require, "exec#b")}, "site.yaml:1:1: exec#b refers to itself", "site.yaml:1:1: exec#b refers to itself"},
		{"an element of its own each", []Resource{with(resource(1, "exec", "b", Require, "exec#b"), func(r *Resource) { r.Each, r.Open = true, true })}, "", "site.yaml:1:1: exec#b refers to itself"},
		{"a circle", []Resource{resource(1, "exec", "a", Require, "exec#b"), resource(2, "exec", "b", Require, "exec#a")},
			"site.yaml:1:1: circular reference: exec#a → exec#b → exec#a\n  hint: remove one of these references", ""},
		{"what may be called so", []Resource{with(a, func(r *Resource) { r.Names, r.Open = nil, true }), resource(2, "exec", "b", Require, "exec#x")}, "", ""},
		{"what may be called so, later", []Resource{resource(1, "exec", "b", Require, "exec#token"), with(a, func(r *Resource) { r.Names, r.Open = nil, true })},
			"site.yaml:1:1: no resource is called exec#token", ""},
		{"what is not known yet", []Resource{with(applied, func(r *Resource) { r.Unknown, r.Within = true, 0 }), resource(4, "exec", "b", Require, "exec#x")}, "", ""},
		{"what belongs to it", []Resource{a, with(applied, func(r *Resource) { r.Lists = []List{{Require, []*yamlpos.Node{at(3, "exec#a")}}} })},
			"site.yaml:3:1: apply#n.yaml refers to exec#a, a resource of the manifest that it applies\n  hint: remove the reference: exec#a already runs as a part of apply#n.yaml",
			"site.yaml:3:1: apply#n.yaml refers to exec#a, a resource of the manifest that it applies\n  hint: remove the reference: exec#a already runs as a part of apply#n.yaml"},
		{"what it belongs to", []Resource{resource(1, "exec", "a", Require, "apply#n.yaml"), applied},
			"site.yaml:1:1: apply#n.yaml applies the manifest that contains this resource\n  hint: remove the reference: it ends after the resources of its manifest",
			"site.yaml:1:1: apply#n.yaml applies the manifest that contains this resource\n  hint: remove the reference: it ends after the resources of its manifest"},
		{"no refresh", []Resource{resource(1, "exec", "b", Notify, "file#/a"), resource(2, "file", "/a", Require)},
			"site.yaml:1:1: type file has no refresh, so it cannot be notified\n  hint: use \"before\" for the order",
			"site.yaml:1:1: type file has no refresh, so it cannot be notified\n  hint: use \"before\" for the order"},
		{"a value", []Resource{a, receiver(2, "b", "exec#a.stdout")}, "", ""},
		{"a value of a later one", []Resource{receiver(1, "b", "exec#a.stdout"), with(a, func(r *Resource) { r.Name = at(2, "a") })},
			"site.yaml:1:1: exec#a is defined later, at line 2\n  hint: move exec#a above this resource: resources run in the order written", ""},
		{"a value of what is hidden", []Resource{with(a, func(r *Resource) { r.Hidden = true }), receiver(2, "b", "exec#a.stdout")},
			"site.yaml:2:1: exec#a is hidden, so it does not send \"stdout\"\n  hint: remove \"hidden\" there",
			"site.yaml:2:1: exec#a is hidden, so it does not send \"stdout\"\n  hint: remove \"hidden\" there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for inGraph, want := range map[bool]string{false: c.written, true: c.graph} {
				err := NewIndex(c.all, builtin.Types(), inGraph).Check()
				if want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, want, "graph: %v", inGraph)
				}
			}
		})
	}
}

func TestCheckGraph(t *testing.T) {
	all := []Resource{resource(1, "exec", "a", Require, "exec#b"), resource(2, "exec", "b", Before, "exec#c"), resource(3, "exec", "c", Before, "exec#b")}
	x := NewIndex(all, builtin.Types(), true)
	require.NoError(t, x.Check())
	require.EqualError(t, x.CheckGraph(), "site.yaml:2:1: these resources wait for each other: exec#b → exec#c (before, site.yaml:2:1) → exec#b (before, site.yaml:3:1)\n  hint: remove one of these references")
	require.NoError(t, NewIndex(all[:2], builtin.Types(), true).CheckGraph())
}

// TestOrderWrittenIsAGraph uses random resources: if their references are valid in written order, they refer to earlier
// resources only and are valid in a graph.
func TestOrderWrittenIsAGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	right := 0
	for range 3000 {
		n := 1 + rng.IntN(6)
		var all []Resource
		for i := range n {
			var refs []string
			for range rng.IntN(2) {
				refs = append(refs, fmt.Sprintf("exec#r%d", rng.IntN(n)))
			}
			o := []Order{Require, Subscribe, Before, Notify}[rng.IntN(4)]
			all = append(all, resource(i+1, "exec", fmt.Sprintf("r%d", i), o, refs...))
		}
		fits := !slices.ContainsFunc(all, func(r Resource) bool { return !points(all, r) })
		err := NewIndex(all, builtin.Types(), false).Check()
		require.Equal(t, fits, err == nil, "%v", err)
		if err == nil {
			right++
			x := NewIndex(all, builtin.Types(), true)
			require.NoError(t, x.Check())
			require.NoError(t, x.CheckGraph())
		}
	}
	require.Greater(t, right, 300)
}

// points reports whether the references of a resource, whose line is its number from 1, point in the direction that
// their list requires.
func points(all []Resource, r Resource) bool {
	for _, list := range r.Lists {
		for _, ref := range list.Refs {
			i := slices.IndexFunc(all, func(other Resource) bool { return other.Ref() == ref.Text })
			if list.Mirror && i < r.Name.Line || !list.Mirror && i >= r.Name.Line-1 {
				return false
			}
		}
	}
	return true
}

func TestSuggestEnds(t *testing.T) {
	x := NewIndex([]Resource{resource(1, "exec", "reload", Require)}, modules.Registry{}, false)
	for range maxHints {
		require.Equal(t, "did you mean exec#reload?", x.Suggest("exec", "relaod"))
	}
	require.Empty(t, x.Suggest("exec", "relaod"))
}

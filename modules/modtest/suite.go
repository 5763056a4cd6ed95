package modtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// A Verdict is the error of Validate about a resource; Err is empty if the resource is valid.
type Verdict[T any] struct {
	Name string // subtest; may be empty
	Of   T
	Err  string
}

// Validates requires the error of Validate of each resource, and that each error names a property.
func Validates[T any, P interface {
	*T
	Validate() error
}](t *testing.T, cases []Verdict[T]) {
	t.Helper()
	for _, c := range cases {
		check := func(t *testing.T) {
			t.Helper()
			if err := P(&c.Of).Validate(); c.Err == "" {
				require.NoError(t, err, "%+v", c.Of)
			} else {
				require.EqualError(t, err, c.Err)
				for _, p := range modules.PropertyErrors(err) {
					require.NotEmpty(t, p.Path, "the property of %v", p)
				}
			}
		}
		if c.Name == "" {
			check(t)
		} else {
			t.Run(c.Name, check)
		}
	}
}

// Decodes requires the error of decoding and validating each properties, in JSON; empty if they are valid.
func Decodes(t *testing.T, typ modules.Type, cases map[string]string) {
	t.Helper()
	for properties, want := range cases {
		_, err := modules.Registry{typ}.Decode(typ.Name, []byte(properties))
		if want == "" {
			require.NoError(t, err, properties)
		} else {
			require.EqualError(t, err, want, properties)
		}
	}
}

// Describes requires the state that a resource reports of a host, as JSON.
func Describes(t *testing.T, h modules.Host, r modules.Resource, want string) {
	t.Helper()
	status, err := modules.StatusOf(t.Context(), r, modules.ReadOnly(h))
	require.NoError(t, err)
	require.JSONEq(t, want, string(status))
}

// OnTree builds a tree, and returns a host that consists of it.
func OnTree(t *testing.T, tree []Node) modules.Host {
	t.Helper()
	root := Root(t)
	Build(t, root, tree)
	return RootedHost(root, Host())
}

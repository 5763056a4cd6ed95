package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManifestArrows keeps what playbooks/manifest is made of below it and apart. What
// reads manifests knows all of it but their schema, which is made without reading any.
func TestManifestArrows(t *testing.T) {
	const root = module + "playbooks/manifest"
	for name, may := range map[string][]string{
		"ansible":   nil,
		"archive":   nil,
		"keys":      nil,
		"property":  nil,
		"reference": {"ansible"},
		"schema":    {"ansible", "keys", "reference"},
	} {
		want := []string{root + "/" + name}
		for _, other := range may {
			want = append(want, root+"/"+other)
		}
		require.ElementsMatch(t, want, below(deps(t, root+"/"+name), root), name)
	}
	require.NotContains(t, deps(t, root), root+"/schema")
}

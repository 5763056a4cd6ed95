package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManifestArrows keeps what playbooks/manifest is made of in one line: what may be
// written and what is in it, then plays, then what reads their resources, then what reads
// files. The schema of it all is made without reading any.
func TestManifestArrows(t *testing.T) {
	const root = module + "playbooks/manifest"
	plays := []string{"", "ansible", "keys", "reference"}
	for name, may := range map[string][]string{
		"ansible":   nil,
		"keys":      nil,
		"source":    nil,
		"reference": {"ansible"},
		"schema":    {"ansible", "keys", "reference"},
		"resource":  plays,
		"load":      append(plays, "resource", "source"),
	} {
		want := []string{root + "/" + name}
		for _, other := range may {
			want = append(want, strings.TrimSuffix(root+"/"+other, "/"))
		}
		require.ElementsMatch(t, want, below(deps(t, root+"/"+name), root), name)
	}
	for _, above := range []string{"load", "resource", "schema", "source"} {
		require.NotContains(t, deps(t, root), root+"/"+above)
	}
}

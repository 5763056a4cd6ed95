package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/file"
)

// BenchmarkDecodeFile measures the time for a file of a host that differs from other hosts.
func BenchmarkDecodeFile(b *testing.B) {
	nodes, err := yamlpos.Parse("site.yaml", []byte("{ensure: present, content: hello, owner: root, group: root, mode: '0644'}"))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		var properties file.File
		if err := yamlpos.Decode(nodes[0], &properties); err != nil {
			b.Fatal(err)
		}
	}
}

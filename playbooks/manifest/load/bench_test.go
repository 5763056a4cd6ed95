package load_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// BenchmarkParse reads 200 files with expressions in their names, contents and
// defaults.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("ccm:\n  resources:\n    - file:\n        - defaults: {owner: \"{{ Data.owner }}\", group: \"{{ Data.group }}\", mode: \"0755\"}\n")
	for i := range 200 {
		fmt.Fprintf(&text, "        - \"{{ Data.root }}/%d\": {content: \"%d on {{ Facts.host.info.os }}\"}\n", i, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := load.Parse(b.Context(), "site.yaml", []byte(text.String()), builtin.Types())
		require.NoError(b, err)
	}
}

package pattern_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

func BenchmarkFold100000(b *testing.B) {
	for name, form := range map[string]func(i int) string{
		"one number":  func(i int) string { return fmt.Sprintf("web%06d.example.com", i) },
		"with gaps":   func(i int) string { return fmt.Sprintf("web%d", i*3) },
		"two numbers": func(i int) string { return fmt.Sprintf("rack%dnode%d", i/40, i%40) },
		"addresses":   func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) },
		"without them": func(i int) string {
			return strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprint(i))
		},
	} {
		names := make([]string, 100_000)
		for i := range names {
			names[(i*7919)%len(names)] = form(i) // in no order
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NotEmpty(b, pattern.Fold(names))
			}
		})
	}
}

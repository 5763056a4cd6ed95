package task

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeywordOrder has no keyword in the order that is not in the table.
func TestKeywordOrder(t *testing.T) {
	for _, name := range keywordOrder {
		require.NotNil(t, Keywords[name].by, name)
	}
}

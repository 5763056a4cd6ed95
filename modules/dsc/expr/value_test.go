package expr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeRefusesWhatIsTooLarge(t *testing.T) {
	_, err := Decode([]byte(`{"a":[1,-1E1000]}`))
	require.EqualError(t, err, "number -1E1000 is too large")
}

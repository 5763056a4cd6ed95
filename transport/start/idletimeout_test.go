package start

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUploadMustMove(t *testing.T) {
	ctx, idle := withIdleTimeout(t.Context(), time.Hour)
	defer idle.stop()
	var out bytes.Buffer
	require.NoError(t, idle.write(&out, "head\n", bytes.Repeat([]byte("x"), 3*writeChunk+1)))
	require.Equal(t, "head\n"+strings.Repeat("x", 3*writeChunk+1), out.String())
	require.NoError(t, ctx.Err())
}

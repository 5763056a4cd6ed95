package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestHandOver(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "small": 5, "one part": wire.MaxChunk, "and one byte": wire.MaxChunk + 1, "grown": 4 * wire.MaxChunk} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("x", size)
			var got bytes.Buffer
			last := 0
			err := handOver(t.Context(), strings.NewReader(text), 3*wire.MaxChunk, func(p *wire.Part) error {
				require.EqualValues(t, got.Len(), p.Offset)
				require.Zero(t, last, "nothing comes behind the last part")
				got.Write(p.Data)
				if p.Last {
					last++
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 1, last)
			require.Equal(t, text[:min(size, 3*wire.MaxChunk)], got.String())
		})
	}
	lost := errors.New("lost")
	require.ErrorIs(t, handOver(t.Context(), strings.NewReader("x"), 10, func(*wire.Part) error { return lost }), lost)
	require.ErrorIs(t, handOver(t.Context(), iotest.ErrReader(lost), 10, func(*wire.Part) error { return nil }), lost)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrKilled)
	require.ErrorIs(t, handOver(ctx, strings.NewReader("x"), 10, func(*wire.Part) error { return nil }), ErrKilled)
}

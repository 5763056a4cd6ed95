package sealing

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	key, h := NewFrameKey(), NewHandoutID()
	w, err := NewFrameWriter(key, h)
	require.NoError(t, err)
	long := []byte(strings.Repeat("long ", maxPiece))
	first, second := w.Frames([]byte("first")), w.Frames(long)
	require.Len(t, first, 1)
	require.Greater(t, len(second), 4)
	r, err := NewFrameReader(key)
	require.NoError(t, err)
	var got []string
	read := func(frame []byte) {
		of, ok := HandoutOf(frame)
		require.True(t, ok)
		require.Equal(t, h, of)
		text, err := r.Read(frame)
		require.NoError(t, err)
		if text != nil {
			got = append(got, string(text))
		}
	}
	read(first[0])
	read(first[0]) // a repeated frame counts once
	for _, frame := range second {
		read(frame)
	}
	require.Equal(t, []string{"first", string(long)}, got)

	frame := w.Frames([]byte("changed"))[0]
	changed := append([]byte(nil), frame...)
	changed[len(changed)-1] ^= 1
	_, err = r.Read(changed)
	require.ErrorContains(t, err, "was changed in transit")
	_, err = r.Read(w.Frames([]byte("too far"))[0])
	require.ErrorContains(t, err, "is incomplete")
	read(frame)
	other, err := NewFrameReader(NewFrameKey())
	require.NoError(t, err)
	_, err = other.Read(first[0])
	require.ErrorContains(t, err, "was changed in transit", "who has another key reads nothing")
}

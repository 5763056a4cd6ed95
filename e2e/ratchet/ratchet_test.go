package ratchet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	limits := map[string]int{"methods playbooks.Runner": 83, "docs docs": 29}
	text := Encode("may only fall", limits)
	require.Equal(t, "# may only fall\ndocs docs 29\nmethods playbooks.Runner 83\n", string(text))
	again, err := Decode(text)
	require.NoError(t, err)
	require.Equal(t, limits, again)
	for _, wrong := range []string{"docs docs many", "3"} {
		_, err = Decode([]byte("# comment\n\n" + wrong + "\n"))
		require.EqualError(t, err, `line 3: write KEY NUMBER, not "`+wrong+`"`)
	}
}

// FuzzDecode checks that a list that is read can be written and read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("# comment\na b 1\nc 2\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		limits, err := Decode(content)
		if err != nil {
			return
		}
		again, err := Decode(Encode("", limits))
		require.NoError(t, err)
		require.Equal(t, limits, again)
	})
}

package parcel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// rot13 is a scheme of tests.
type rot13 struct{}

func turned(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+13)%26
		}
		return r
	}, text)
}

func (rot13) Tags() []string                       { return []string{"!rot13"} }
func (rot13) Check(*yamlpos.Node) error            { return nil }
func (rot13) Open(n *yamlpos.Node) (string, error) { return turned(n.Text), nil }
func (rot13) IsFile(data []byte) bool              { return strings.HasPrefix(string(data), "rot13:") }
func (rot13) OpenFile(_ string, data []byte) ([]byte, error) {
	return []byte(turned(string(data[6:]))), nil
}

func TestSealed(t *testing.T) {
	const text = "token: !rot13 frperg\nother: plain\n"
	var s Sealed
	ring := s.Recording(&sealed.Ring{Schemes: []sealed.Scheme{rot13{}}})
	_, err := yamlpos.Parse("here.yaml", []byte(text), yamlpos.KeepSealed(ring.Opener()), yamlpos.Secrets())
	require.NoError(t, err)
	all := s.Open()
	s.AddFile(&all, "file", []byte("rot13:fuu"))
	s.AddFile(&all, "file", []byte("nothing"))

	there := all.Ring()
	docs, err := yamlpos.Parse("/there/here.yaml", []byte(text), yamlpos.KeepSealed(there.Opener()), yamlpos.Secrets())
	require.NoError(t, err)
	value, err := docs[0].Get("token").Open()
	require.NoError(t, err)
	require.Equal(t, "secret", value)
	data, isSealed, err := there.File("x", []byte("rot13:fuu"))
	require.NoError(t, err)
	require.True(t, isSealed)
	require.Equal(t, "shh", string(data))
	docs, err = yamlpos.Parse("x.yaml", []byte("new: !rot13 abc\n"), yamlpos.KeepSealed(there.Opener()), yamlpos.Secrets())
	require.NoError(t, err)
	_, err = docs[0].Get("new").Open()
	require.EqualError(t, err, "x.yaml:1:6: it could not be opened where the run was begun")
	require.Nil(t, Opened{}.Ring())
}

package notes

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A pastShelf is a store of logs without contents.
type pastShelf map[string]string

func (s pastShelf) Put(io.Reader) (string, int64, error)      { return "", 0, nil }
func (s pastShelf) Open(string) (io.ReadCloser, error)        { return nil, nil }
func (s pastShelf) Read(run string) ([]byte, error)           { return []byte(s[run]), nil }
func (s pastShelf) Append(run string, l []byte, _ bool) error { s[run] += string(l); return nil }

// TestPast continues the record of another program for the same run, as after a lost connection.
func TestPast(t *testing.T) {
	store := pastShelf{}
	lock := &wire.Lock{Run: "01A", Holder: "ops@ctl"}
	begin := func(name string) (*Past, *Change, bool) {
		p, err := OpenPast(store, lock, time.Unix(0, 0))
		require.NoError(t, err)
		c, again, err := p.Begin(Change{Play: 1, Type: "file", Name: name}, false)
		require.NoError(t, err)
		return p, c, again
	}
	p, c, again := begin("/f")
	require.False(t, again)
	require.NoError(t, p.Paths(c, []before.Node{{Path: "/f", Kind: modules.Absent}}))
	p, c, again = begin("/f")
	require.True(t, again)
	require.NoError(t, p.Paths(c, []before.Node{{Path: "/f", Kind: modules.Regular}, {Path: "/g", Kind: modules.Absent}}))
	require.NoError(t, p.Leaves(c, Left{RefreshedBy: []string{"file#/x"}}))
	p, c, again = begin("/h")
	require.False(t, again)
	require.NoError(t, p.Cannot(c, "no"))
	store["01A"] += `{"change":{"n":3` // the program was killed as it wrote this
	all, damage, err := ReadPast(store, "01A")
	require.NoError(t, err)
	require.Equal(t, "the record of run 01A is damaged from line 8 on (it is cut off), so its later changes are unknown", damage)
	require.Equal(t, []*Change{
		{Number: 1, Play: 1, Type: "file", Name: "/f", Before: []before.Node{{Path: "/f", Kind: modules.Absent}, {Path: "/g", Kind: modules.Absent}}, Left: &Left{RefreshedBy: []string{"file#/x"}}},
		{Number: 2, Play: 1, Type: "file", Name: "/h", Cannot: "no"},
	}, all)
	require.Equal(t, 1, strings.Count(store["01A"], "begin"))
}

func TestPastOfANewerProgram(t *testing.T) {
	store := pastShelf{"1": `{"begin":{"format":3,"run":"1"}}` + "\n"}
	_, _, err := ReadPast(store, "1")
	require.EqualError(t, err, "the record of run 1 cannot be read: a newer ccm-push has written it in format 3")
	_, err = OpenPast(store, &wire.Lock{Run: "1"}, time.Now())
	require.Error(t, err)
}

// FuzzPast reads logs: each change is there once, and in order.
func FuzzPast(f *testing.F) {
	f.Add(`{"begin":{"format":1,"run":"1"}}` + "\n" + `{"change":{"n":1,"type":"file","name":"/f"}}` + "\n" + `{"paths":{"n":1,"nodes":[{"path":"/f","kind":"absent"}]}}` + "\n" + `{"left":{"n":1}}` + "\n")
	f.Add(`{"paths":{"n":7}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := ReadPast(pastShelf{"1": text}, "1")
		if err != nil {
			return
		}
		for i, c := range all {
			require.Equal(t, i+1, c.Number)
		}
	})
}

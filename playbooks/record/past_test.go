package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestPast(t *testing.T) {
	s := newStore(t)
	start := func() events.Event { return events.RunStart{Hosts: 1, Plays: plays("web1")} }
	id := func(n int) string { return NewID(began.Add(time.Duration(n) * time.Hour)) }
	changed := s.record(t, Header{Run: id(1)}, start(), result("web1", events.Changed), result("web2", events.Stable))
	stable := s.record(t, Header{Run: id(2)}, start(), result("web1", events.Stable))
	would := result("web1", events.Changed)
	would.Check = true
	s.record(t, Header{Run: id(3), Check: true}, start(), would)
	other := result("web1", events.Changed)
	other.Name = "/etc/motd2"
	s.record(t, Header{Run: id(4)}, start(), other)
	s.record(t, Header{Run: id(5)}, events.RunStart{Hosts: 1, Plays: plays("web2")}, result("web2", events.Changed))

	last, change, err := s.Past("web1", "file", "/etc/motd")
	require.NoError(t, err)
	require.Equal(t, stable.Header.Run, last.Run)
	require.Equal(t, events.Stable, last.Result.Status)
	require.Equal(t, changed.Header.Run, change.Run)
	require.Equal(t, began, change.Started)
	last, change, err = s.Past("web1", "file", "/etc/shadow")
	require.NoError(t, err)
	require.Nil(t, last)
	require.Nil(t, change)
	_, change, err = s.Past("web2", "file", "/etc/motd")
	require.NoError(t, err)
	require.NotNil(t, change)
}

func TestMayHold(t *testing.T) {
	require.True(t, mayHold([]byte(`{"name":"/etc/motd"}`), "/etc/motd"))
	require.False(t, mayHold([]byte(`{"name":"/etc/motd"}`), "/etc/hosts"))
	require.True(t, mayHold([]byte(`{"name":"a\u003cb"}`), "a<b"), "it may be written in another way")
}

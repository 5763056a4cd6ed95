package schedule

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestAncestors has an edge of each kind.
func TestAncestors(t *testing.T) {
	entries := []wire.Entry{
		0: {},
		1: {Require: []int{0}},
		2: {Subscribe: []int{1}},
		3: {After: []int{1}},
		4: {Receive: []wire.Receive{{From: 3}, {From: -1}}},
		5: {},
		6: {Scope: &wire.Scope{Entries: 2}},
	}
	want := [][]int{nil, {0}, {0, 1}, {0, 1}, {0, 1, 3}, nil, {0, 1, 3, 4, 5}}
	all := findAncestors(entries)
	for i := range entries {
		var found []int
		for j := range entries {
			if all[i].Has(j) {
				found = append(found, j)
			}
		}
		require.Equal(t, want[i], found, i)
	}
	require.Equal(t, []int{3}, slices.Collect(wire.Requirements(&entries[4])))
	both := NewSet(len(entries))
	both.Put(4)
	both.Put(3)
	first, ok := all[6].FirstIn(both)
	require.True(t, ok)
	require.Equal(t, 3, first)
	_, ok = all[2].FirstIn(both)
	require.False(t, ok)
}

// TestClaims has two jobs check one thing at the same time: the second one has to check
// it again.
func TestClaims(t *testing.T) {
	s := New(nil, Work{})
	since := s.Clock()
	require.True(t, s.Claim([]string{"/etc/hosts"}, since))
	require.False(t, s.TryClaim([]string{"/etc/motd", "/etc/hosts"}, since), "it is being changed")
	require.True(t, s.TryClaim([]string{"/etc/motd"}, since))
	s.Unclaim([]string{"/etc/hosts"})
	require.False(t, s.Claim([]string{"/etc/hosts"}, since), "it has changed")
	require.True(t, s.Claim([]string{"/etc/hosts"}, s.Clock()))
	require.True(t, (*Scheduler)(nil).Claim([]string{"/etc/hosts"}, 0), "one after the other")
}

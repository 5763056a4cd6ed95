package share

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestSessions has resources of some hosts run on others, which have plays of their own.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits Waits
		s := NewSessions(&waits)
		var order []string
		borrow := func(by, host string) {
			done, err := s.Borrow(t.Context(), by, host)
			if err != nil {
				order = append(order, err.Error())
				return
			}
			order = append(order, by)
			done()
		}
		borrow("web1", "lb1") // nobody has it
		require.Equal(t, []string{"web1"}, order)

		var begun []string
		s.Begin([]string{"web1", "web2", "web3"}, func(host string) { begun = append(begun, host) })
		go borrow("web1", "web2")
		synctest.Wait()
		go borrow("web3", "web2")
		synctest.Wait()
		require.Equal(t, []string{"web2", "web2"}, begun)
		order = nil
		borrow("web2", "web3") // which waits for web2
		require.Equal(t, []string{"hosts wait for each other in a circle: web2 waits for web3 waits for web2; put what one of them waits for into a play before this one"}, order)
		order = nil
		s.End("web2", "web2")
		synctest.Wait()
		require.Equal(t, []string{"web1", "web3"}, order)
		borrow("web1", "web2") // whose play is over
		require.Equal(t, []string{"web1", "web3", "web1"}, order)
		s.End("web1", "web2", "web3")
		require.Empty(t, s.hosts)
		require.Empty(t, waits.count)
	})
}

// TestBorrowEnds has a host wait in vain.
func TestBorrowEnds(t *testing.T) {
	s := NewSessions(&Waits{})
	s.Begin([]string{"lb1"}, func(string) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Borrow(ctx, "web1", "lb1")
	require.ErrorIs(t, err, context.Canceled)
	s.End("lb1")
	require.Empty(t, s.hosts)
	require.Empty(t, s.waits.count)
}

// TestWaits has hosts wait for each other for values, which is not looked at here, and for whole
// plays.
func TestWaits(t *testing.T) {
	var w Waits
	end, err := w.begin(wait{"a", "b", false})
	require.NoError(t, err)
	_, err = w.begin(wait{"b", "a", false})
	require.NoError(t, err)
	_, err = w.begin(wait{"b", "c", true})
	require.NoError(t, err)
	_, err = w.begin(wait{"c", "a", false})
	require.EqualError(t, err, "hosts wait for each other in a circle: c waits for a waits for b waits for c; put what one of them waits for into a play before this one")
	end()
	_, err = w.begin(wait{"c", "a", false})
	require.NoError(t, err)
}

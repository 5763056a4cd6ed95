package share

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
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

// TestOnce has three hosts wait for the first one that has a resource.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var begun []string
		o := NewOnce(&Waits{})
		o.Begin([]string{"a", "b", "c"}, false, func(host string) {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, host)
		})
		asked := make(chan string, 9)
		ask := func(host string) {
			on, result, err := o.Await(t.Context(), host, "r")
			switch {
			case err != nil:
				asked <- host + ": " + err.Error()
			case result == nil:
				asked <- host + " runs it"
			default:
				asked <- host + ": " + string(result.Status) + " on " + on
			}
		}
		o.Compiled("c", map[string]bool{"r": true})
		go ask("c")
		synctest.Wait()
		require.Equal(t, []string{"a"}, begun)
		o.Compiled("a", map[string]bool{}) // which has no such resource
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, begun)
		o.Compiled("b", map[string]bool{"r": true})
		go ask("b")
		synctest.Wait()
		require.Equal(t, "b runs it", <-asked)
		o.Compiled("a", map[string]bool{"r": true}) // a later stage of it has
		go ask("a")
		synctest.Wait()
		require.Empty(t, asked)
		o.Ended("a", "r", &wire.Result{Status: wire.Skipped})
		o.Ended("b", "r", &wire.Result{Status: wire.Skipped})
		synctest.Wait()
		require.Equal(t, "c runs it", <-asked)
		o.Ended("c", "r", &wire.Result{Status: wire.Changed})
		synctest.Wait()
		require.Equal(t, "a: changed on c", <-asked)

		o.Begin([]string{"d", "e"}, true, nil) // the rest of the batch
		ask("d")
		require.Equal(t, "d: changed on c", <-asked)
		o.Begin([]string{"d", "e"}, false, func(string) {})
		go ask("e")
		synctest.Wait()
		o.Over("d") // it has failed before
		synctest.Wait()
		require.Equal(t, "e runs it", <-asked)
		require.Empty(t, o.waits.count)
	})
}

// TestOnceInACircle has a host wait for one that waits for it.
func TestOnceInACircle(t *testing.T) {
	var waits Waits
	o := NewOnce(&waits)
	o.Begin([]string{"a", "b"}, false, func(string) {})
	_, err := waits.begin(wait{"a", "b", false})
	require.NoError(t, err)
	_, _, err = o.Await(t.Context(), "b", "r")
	require.EqualError(t, err, "hosts wait for each other in a circle: b waits for a waits for b; put what one of them waits for into a play before this one")
}

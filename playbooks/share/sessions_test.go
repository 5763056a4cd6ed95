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
		borrow("web1", "lb1") // the session is free
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
		require.Equal(t, []string{"hosts wait for each other in a circle: web2 waits for web3 waits for web2; move one of the resources that they wait for into an earlier play"}, order)
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
	require.EqualError(t, err, "hosts wait for each other in a circle: c waits for a waits for b waits for c; move one of the resources that they wait for into an earlier play")
	end()
	_, err = w.begin(wait{"c", "a", false})
	require.NoError(t, err)
}

// TestOnce makes three hosts wait for the first one that has a resource.
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
		o.Over("d", true) // it has failed before it began it
		synctest.Wait()
		require.Equal(t, "e runs it", <-asked)
		require.Empty(t, o.waits.count)
	})
}

// TestOnceOnALostHost loses the host that has begun a resource: no other host runs it, and its outcome is unknown.
func TestOnceOnALostHost(t *testing.T) {
	o := NewOnce(&Waits{})
	began := func(host string) {
		_, result, err := o.Await(t.Context(), host, "r")
		require.NoError(t, err)
		require.Nil(t, result)
	}
	unknown := func(host, on string) {
		where, result, err := o.Await(t.Context(), host, "r")
		require.NoError(t, err)
		require.Equal(t, on, where)
		require.Equal(t, &wire.Result{Status: wire.Failed, Unknown: true, Error: on + " was lost after it had begun this, and has not reported the outcome"}, result)
	}
	o.Begin([]string{"a", "b", "c"}, false, func(string) {})
	began("a")
	o.Over("a", true)
	unknown("b", "a")
	unknown("c", "a")

	o.Begin([]string{"a", "b"}, false, func(string) {})
	began("a")
	o.Over("a", false) // it has ended, and has not begun it
	began("b")

	o.Begin([]string{"a", "b"}, false, func(string) {})
	o.Began("b", "r") // in the run that is resumed
	begun := make(chan string, 1)
	o.Begin([]string{"a", "b"}, true, func(host string) { begun <- host })
	o.Began("b", "r")
	go func() {
		<-begun
		o.Over("b", true)
	}()
	unknown("a", "b")

	o.Begin([]string{"a", "b"}, false, func(string) {})
	o.Began("gone", "r") // it is not in this run
	unknown("a", "gone")
}

// TestOnceInACircle has a host wait for one that waits for it.
func TestOnceInACircle(t *testing.T) {
	var waits Waits
	o := NewOnce(&waits)
	o.Begin([]string{"a", "b"}, false, func(string) {})
	_, err := waits.begin(wait{"a", "b", false})
	require.NoError(t, err)
	_, _, err = o.Await(t.Context(), "b", "r")
	require.EqualError(t, err, "hosts wait for each other in a circle: b waits for a waits for b; move one of the resources that they wait for into an earlier play")
}

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// A stage is a run of host programs in the hands of a test.
type stage struct {
	t          *testing.T
	semaphores share.Semaphores
	resource   time.Duration // how long a resource may take
	host       HostTime
	ask        func(context.Context, *wire.Entry, string) bool
	elsewhere  func(ctx context.Context, index int, refresh bool) (*wire.Result, bool)
	stop       chan struct{} // nil is never closed
	wg         sync.WaitGroup
	mu         sync.Mutex
	errs       map[string]error
}

// acts runs a catalog on a puppet that the test controls.
func (s *stage) acts(ctx context.Context, name string, c *catalog.Compiled, act func(*puppet)) {
	s.wg.Go(func() {
		p := newPuppet()
		sess := New(ctx, p, time.Now, 0)
		does := task(c)
		does.Resource, does.Host = s.resource, s.host
		turns := share.NewTurns(func(_ int, claims []share.Claim) *share.Turn { return s.semaphores.Request(claims) })
		defer turns.Release()
		does.Claim = turns.Claim
		does.Ask, does.Elsewhere = s.ask, s.elsewhere
		var host sync.WaitGroup
		host.Go(func() { act(p); p.cut() })
		_, err := sess.Apply(ctx, s.stop, does)
		s.mu.Lock()
		s.errs[name] = err
		s.mu.Unlock()
		p.cut()
		sess.Close()
		host.Wait()
	})
}

// staged runs the hosts of a run, and returns the error of each of them.
func staged(t *testing.T, act func(*stage)) map[string]error {
	errs := map[string]error{}
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, errs: errs}
		act(s)
		s.wg.Wait()
		all := s.semaphores.Request(claims(t, "db", "never"))
		defer all.Release()
		select {
		case <-all.Granted():
		default:
			require.Fail(t, "a semaphore is still held")
		}
	})
	return errs
}

func claims(t *testing.T, specs ...string) []share.Claim {
	list, err := share.ParseSemaphores(specs)
	require.NoError(t, err)
	return list
}

// guarded is a catalog of resources that have semaphores.
func guarded(sema ...string) *catalog.Compiled {
	return &catalog.Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "a", Sema: sema}, {Type: "exec", Name: "b"}}}}
}

// until answers pings until something else comes; nil if nothing will.
func (p *puppet) until() *wire.Message {
	for {
		m, err := p.conn.Receive()
		if err != nil {
			return nil
		}
		if m.Ping == nil {
			return m
		}
		p.conn.Send(&wire.Message{Pong: &wire.Empty{}})
	}
}

// rest sends what ends a catalog of two resources.
func (p *puppet) rest() {
	p.conn.Send(&wire.Message{Result: &wire.Result{Index: 0}}, &wire.Message{Result: &wire.Result{Index: 1}}, &wire.Message{Done: &wire.Done{}})
	io.Copy(io.Discard, p.in)
}

// TestAsked checks that the clocks of a resource and a host are paused while the operator takes longer to answer.
func TestAsked(t *testing.T) {
	errs := staged(t, func(s *stage) {
		s.resource, s.host = time.Minute, HostTime{Limit: 2 * time.Minute, Remaining: 2 * time.Minute}
		s.ask = func(_ context.Context, e *wire.Entry, would string) bool {
			require.Equal(t, "exec#a", e.Ref())
			require.Equal(t, "Would have executed", would)
			time.Sleep(5 * time.Hour)
			return true
		}
		s.acts(s.t.Context(), "web1", guarded("db"), func(p *puppet) {
			require.NotNil(t, p.until().Catalog)
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Would: "Would have executed"}})
			require.Equal(t, &wire.Granted{Index: 0}, p.until().Granted)
			p.rest()
		})
		s.wg.Wait()
	})
	require.NoError(t, errs["web1"])
}

// TestAskedInVain has a question end with the connection of its host.
func TestAskedInVain(t *testing.T) {
	withdrawn := false
	errs := staged(t, func(s *stage) {
		asked := make(chan struct{})
		s.ask = func(ctx context.Context, _ *wire.Entry, _ string) bool {
			close(asked)
			<-ctx.Done()
			withdrawn = true
			return false
		}
		s.acts(s.t.Context(), "web1", guarded("db"), func(p *puppet) {
			require.NotNil(t, p.until().Catalog)
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{}})
			<-asked
		})
		s.wg.Wait()
	})
	require.Error(t, errs["web1"])
	require.True(t, withdrawn)
}

// TestAskedAndStopped checks that a host receives a stop and gets no turn if the operator stops the run.
func TestAskedAndStopped(t *testing.T) {
	errs := staged(t, func(s *stage) {
		s.stop = make(chan struct{})
		s.ask = func(context.Context, *wire.Entry, string) bool {
			close(s.stop)
			return false
		}
		s.acts(s.t.Context(), "web1", guarded("db"), func(p *puppet) {
			require.NotNil(t, p.until().Catalog)
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{}})
			require.NotNil(t, p.until().Stop)
			p.conn.Send(&wire.Message{Done: &wire.Done{Stopped: true}})
		})
		s.wg.Wait()
	})
	require.NoError(t, errs["web1"])
}

func TestTurns(t *testing.T) {
	const n, most = 8, 2
	var mu sync.Mutex
	inside, peak := 0, 0
	start := time.Now()
	var took time.Duration
	errs := staged(t, func(s *stage) {
		start = time.Now()
		s.resource, s.host = 90*time.Second, HostTime{Limit: 2 * time.Minute, Remaining: 2 * time.Minute}
		for i := range n {
			s.acts(s.t.Context(), fmt.Sprintf("web%d", i), guarded("db:2"), func(p *puppet) {
				require.NotNil(t, p.until().Catalog)
				p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
				m := p.until()
				require.Equal(t, &wire.Granted{Index: 0}, m.Granted)
				mu.Lock()
				inside++
				peak = max(peak, inside)
				mu.Unlock()
				p.works(time.Minute)
				mu.Lock()
				inside--
				mu.Unlock()
				if i%2 == 0 { // the others give it back with their result
					p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0, Release: true}})
				}
				p.rest()
			})
		}
		s.wg.Wait()
		took = time.Since(start)
	})
	require.Equal(t, most, peak)
	require.Len(t, errs, n)
	for name, err := range errs {
		require.NoError(t, err, name)
	}
	// Each waits for up to three others, which is more than a resource or a host may take.
	require.Equal(t, n/most*time.Minute, took)
}

// works answers pings for a time.
func (p *puppet) works(d time.Duration) {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		if left < wire.PingInterval(0) {
			time.Sleep(left)
			return
		}
		if m, err := p.conn.Receive(); err != nil || m.Ping == nil {
			return
		}
		p.conn.Send(&wire.Message{Pong: &wire.Empty{}})
	}
}

// TestTurnOfTheSilent checks that silent hosts hold a semaphore that others wait for no longer than their time limit.
func TestTurnOfTheSilent(t *testing.T) {
	for _, c := range []struct {
		name string
		act  func(t *testing.T, p *puppet)
		err  string
		took time.Duration
	}{
		{"it works for ever", func(t *testing.T, p *puppet) {
			for p.until() != nil {
			}
		}, "exec#a took longer than 1m", time.Minute + killGrace},
		{"it waits for a second semaphore that it never gets", func(t *testing.T, p *puppet) {
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 1}})
			for p.until() != nil {
			}
		}, "exec#a took longer than 1m", time.Minute + killGrace},
		{"it dies", func(t *testing.T, p *puppet) { p.works(10 * time.Second) }, "the connection was closed", 10 * time.Second},
		{"it lies", func(t *testing.T, p *puppet) {
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
			for p.until() != nil {
			}
		}, "the host requests the semaphores of resource 0 twice", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var took time.Duration
			errs := staged(t, func(s *stage) {
				s.resource = time.Minute
				first := guarded("db")
				first.Catalog.Entries[1].Sema = []string{"never"}
				never := s.semaphores.Request(claims(t, "never"))
				start := time.Now()
				s.acts(s.t.Context(), "first", first, func(p *puppet) {
					p.until()
					p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
					require.NotNil(t, p.until().Granted)
					c.act(t, p)
				})
				synctest.Wait()
				s.acts(s.t.Context(), "second", guarded("db"), func(p *puppet) {
					p.until()
					p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
					require.NotNil(t, p.until().Granted)
					took = time.Since(start)
					p.rest()
				})
				s.wg.Wait()
				never.Release()
			})
			require.EqualError(t, errs["first"], c.err)
			require.NoError(t, errs["second"])
			require.Equal(t, c.took, took)
		})
	}
}

// TestHostTimeStandsStill has a host wait for another one and then work on for longer
// than it may.
func TestHostTimeStandsStill(t *testing.T) {
	var took time.Duration
	errs := staged(t, func(s *stage) {
		s.host = HostTime{Limit: time.Hour, Remaining: 10 * time.Minute}
		held := s.semaphores.Request(claims(t, "db"))
		start := time.Now()
		s.acts(s.t.Context(), "web1", guarded("db"), func(p *puppet) {
			p.until()
			p.works(4 * time.Minute)
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
			require.NotNil(t, p.until().Granted)
			for p.until() != nil {
			}
		})
		s.wg.Go(func() {
			time.Sleep(5 * time.Hour)
			held.Release()
		})
		s.wg.Wait()
		took = time.Since(start)
	})
	require.EqualError(t, errs["web1"], "the host took longer than 1h")
	require.Equal(t, 5*time.Hour+6*time.Minute+killGrace, took)
}

// TestKilledWhileWaiting checks that no state is left.
func TestKilledWhileWaiting(t *testing.T) {
	errs := staged(t, func(s *stage) {
		ctx, kill := context.WithCancel(s.t.Context())
		held := s.semaphores.Request(claims(t, "db"))
		s.acts(ctx, "web1", guarded("db"), func(p *puppet) {
			p.until()
			p.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: 0}})
			synctest.Wait()
			kill()
			require.NotNil(t, p.until().Kill)
			p.conn.Send(&wire.Message{Done: &wire.Done{Stopped: true}})
			p.until()
		})
		s.wg.Wait()
		held.Release()
	})
	require.NoError(t, errs["web1"])
}

func TestTurnBreaches(t *testing.T) {
	for _, c := range []struct {
		name string
		say  []*wire.Message
		err  string
	}{
		{"of no resource", []*wire.Message{{Semaphore: &wire.Semaphore{Index: 2}}}, "the host requests semaphores of resource 2, which has none"},
		{"below zero", []*wire.Message{{Semaphore: &wire.Semaphore{Index: -1}}}, "the host requests semaphores of resource -1, which has none"},
		{"of one without", []*wire.Message{{Semaphore: &wire.Semaphore{Index: 1}}}, "the host requests semaphores of resource 1, which has none"},
		{"of one that is over", []*wire.Message{{Result: &wire.Result{Index: 0}}, {Semaphore: &wire.Semaphore{Index: 0}}}, "the host requests semaphores of resource 0, which it has reported"},
		{"values of one that receives none", []*wire.Message{{Import: &wire.Import{Index: 0}}}, "the host requests values of resource 0, which receives none from other hosts"},
		{"values of none", []*wire.Message{{Import: &wire.Import{Index: 7}}}, "the host requests values of resource 7, which receives none from other hosts"},
		{"a value that is no export", []*wire.Message{{Result: &wire.Result{Index: 1, Sent: map[string]json.RawMessage{"stdout": json.RawMessage(`"x"`)}}}},
			`the host sends the value "stdout" of resource 1, which does not export it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := staged(t, func(s *stage) {
				s.acts(s.t.Context(), "web1", guarded("db"), func(p *puppet) {
					p.until()
					p.conn.Send(c.say...)
					for p.until() != nil {
					}
				})
			})
			require.EqualError(t, errs["web1"], c.err)
		})
	}
}

// TestElsewhereBreaches uses a host that requests to run resources on another one that must not run there.
func TestElsewhereBreaches(t *testing.T) {
	entries := []wire.Entry{{Type: "exec", Name: "here"}, {Type: "exec", Name: "there", On: "lb1"}}
	asks := func(index int) []*wire.Message { return []*wire.Message{{Elsewhere: &wire.Elsewhere{Index: index}}} }
	for _, c := range []struct {
		name string
		say  []*wire.Message
		err  string
	}{
		{"of no resource", asks(2), "the host requests that resource 2 run on another host, but it runs only here"},
		{"below zero", asks(-1), "the host requests that resource -1 run on another host, but it runs only here"},
		{"of its own", asks(0), "the host requests that resource 0 run on another host, but it runs only here"},
		{"twice", append(asks(1), asks(1)...), "the host requests twice that resource 1 run on another host"},
		{"of one that is over", append([]*wire.Message{{Result: &wire.Result{Index: 1}}}, asks(1)...), "the host requests that resource 1 run on another host, but it has reported it"},
		{"a refresh", []*wire.Message{{Elsewhere: &wire.Elsewhere{Index: 1, Refresh: true}}}, "the host requests a refresh of resource 1, which subscribes to nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := staged(t, func(s *stage) {
				s.elsewhere = func(ctx context.Context, _ int, _ bool) (*wire.Result, bool) {
					<-ctx.Done()
					return nil, false
				}
				s.acts(s.t.Context(), "web1", &catalog.Compiled{Catalog: wire.Catalog{Entries: entries}}, func(p *puppet) {
					p.until()
					p.conn.Send(c.say...)
					for p.until() != nil {
					}
				})
			})
			require.EqualError(t, errs["web1"], c.err)
		})
	}
}

// TestElsewhereIsNotTold runs a resource on another host: the host of the play learns only the outcome, not the
// observations on the other host. Meanwhile the clock of the host is paused.
func TestElsewhereIsNotTold(t *testing.T) {
	entries := []wire.Entry{{Type: "exec", Name: "a"}, {Type: "exec", Name: "there", On: "lb1", Subscribe: []int{0}}}
	for _, c := range []struct {
		there *wire.Result
		want  wire.Elsewhere
	}{
		{&wire.Result{Message: "secret"}, wire.Elsewhere{Index: 1, Status: wire.Stable}},
		{&wire.Result{Status: wire.Changed, Diff: "secret", Grade: modules.Unknown, Because: "exec#x"}, wire.Elsewhere{Index: 1, Status: wire.Changed, Grade: modules.Unknown, Because: "exec#x"}},
		{&wire.Result{Status: wire.Failed, Error: "secret"}, wire.Elsewhere{Index: 1, Status: wire.Failed, Error: "it failed on lb1"}},
		{nil, wire.Elsewhere{Index: 1}},
		{nil, wire.Elsewhere{Index: 1, Here: true}},
	} {
		errs := staged(t, func(s *stage) {
			s.resource, s.host = time.Minute, HostTime{Limit: 2 * time.Minute, Remaining: 2 * time.Minute}
			s.elsewhere = func(_ context.Context, index int, refresh bool) (*wire.Result, bool) {
				require.Equal(t, 1, index)
				require.True(t, refresh)
				time.Sleep(5 * time.Hour)
				return c.there, c.want.Here
			}
			s.acts(s.t.Context(), "web1", &catalog.Compiled{Catalog: wire.Catalog{Entries: entries}}, func(p *puppet) {
				p.until()
				p.conn.Send(&wire.Message{Elsewhere: &wire.Elsewhere{Index: 1, Refresh: true}})
				require.Equal(t, &c.want, p.until().Elsewhere)
				p.rest()
			})
		})
		require.NoError(t, errs["web1"])
	}
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A worker changes a thing, or fails, or both.
type worker struct {
	dawdler
	Fails int `json:"fails"` // how often, before it works
	at    chan map[string]int
	clash *bool
}

func (w *worker) Refresh(_ context.Context, _ modules.Host, p modules.Plan) (modules.Plan, error) {
	return modules.Plan{Action: "refreshed it", Effects: p.Effects, Refreshed: true}, nil
}

func (w *worker) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	things := <-w.at
	things[w.Thing]++
	*w.clash = *w.clash || things[w.Thing] > 1
	w.at <- things
	defer func() {
		things := <-w.at
		things[w.Thing]--
		w.at <- things
	}()
	err := w.dawdler.Apply(ctx, h, p)
	if w.Fails--; w.Fails >= 0 {
		w.done = false
		return errors.New("not yet")
	}
	return err
}

// A joiner is a worker that can go together with others.
type joiner struct{ worker }

func (j *joiner) BatchKey(modules.Plan) string { return j.Thing[:1] }

func (j *joiner) ApplyBatch(ctx context.Context, h modules.Host, batch []modules.Planned) error {
	for _, m := range batch {
		if err := m.Resource.(*joiner).Apply(ctx, h, m.Plan); err != nil {
			return err
		}
	}
	return nil
}

// randomWork is a catalog with some of everything.
func randomWork(random *rand.Rand) wire.Catalog {
	cat := wire.Catalog{Parallel: 2 + random.IntN(4), FailOnError: random.IntN(4) == 0}
	one := func(n int) bool { return random.IntN(n) == 0 }
	free := 0 // the first entry that may get into a scope
	for i := range 5 + random.IntN(30) {
		if i > free && one(8) {
			cat.Entries = append(cat.Entries, wire.Entry{Type: "apply", Name: fmt.Sprint(i),
				Scope: &wire.Scope{Entries: 1 + random.IntN(i-free), FailOnError: one(2)}})
			free = i + 1
			continue
		}
		w := worker{dawdler: dawdler{Name: fmt.Sprint(i), Thing: fmt.Sprintf("%c%d", 'a'+random.IntN(2), random.IntN(6)), Takes: time.Duration(random.IntN(50)) * time.Millisecond}}
		if one(6) {
			w.Fails = 1 + random.IntN(3)
		}
		e := wire.Entry{Type: []string{"worker", "joiner"}[random.IntN(2)], Name: w.Name, Check: one(10), Hidden: one(20), Excluded: one(20), Sensitive: one(10)}
		for range random.IntN(3) {
			if i > 0 {
				list := []*[]int{&e.Require, &e.Subscribe, &e.After}[random.IntN(3)]
				*list = append(*list, random.IntN(i))
			}
		}
		if one(6) {
			e.Retry, e.Delay = random.IntN(3), time.Duration(random.IntN(300))*time.Millisecond
		}
		if one(6) {
			e.Timeout = time.Duration(1+random.IntN(60)) * time.Millisecond
		}
		if one(5) {
			e.Sema = []string{"s"}
		}
		if one(8) {
			e.Receive = []wire.Receive{{Property: "name", From: -1}}
		}
		if one(8) {
			e.Health = []wire.HealthCheck{{Name: "h", Rules: []byte(`{}`), Tries: 2, TrySleep: 30 * time.Millisecond, Timeout: time.Second}}
		}
		e.Properties, _ = json.Marshal(&w)
		cat.Entries = append(cat.Entries, e)
	}
	return cat
}

// TestAnythingAtOnce runs random catalogs. Some are stopped or killed. Each entry has one result, after the results of
// its requirements; no two entries change a thing at once, and every semaphore is released. The synctest bubble finds
// endless waits.
func TestAnythingAtOnce(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { anythingAtOnce(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func anythingAtOnce(t *testing.T, random *rand.Rand) {
	cat := randomWork(random)
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	stops := time.Now().Add(time.Hour)
	switch moment := time.Duration(random.IntN(400)) * time.Millisecond; random.IntN(4) {
	case 0:
		stops = time.Now().Add(moment)
	case 1:
		stops = time.Now().Add(moment)
		defer time.AfterFunc(moment, func() { kill(errors.New("killed")) }).Stop()
	}
	clash, at, semaphore, held := false, make(chan map[string]int, 1), make(chan struct{}, 2), make(chan int, 1)
	at <- map[string]int{}
	held <- 0
	hold := func(by int) {
		n := <-held
		held <- n + by
	}
	e := &engine.Engine{
		Host: system.New(), Now: time.Now,
		Stop: func() bool { return !time.Now().Before(stops) },
		Decode: func(e *wire.Entry) (modules.Resource, error) {
			w := worker{at: at, clash: &clash}
			if err := json.Unmarshal(e.Properties, &w); err != nil {
				return nil, err
			}
			if e.Type == "joiner" {
				return &joiner{w}, nil
			}
			return &w, nil
		},
		Import: func(ctx context.Context, _ int) (*wire.Imported, error) {
			select {
			case <-time.After(100 * time.Millisecond):
				return &wire.Imported{Sensitive: true, Values: map[string]json.RawMessage{"name": json.RawMessage(`"given"`)}}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		Semaphores: func(ctx context.Context, _ int, _ string) (func(), error) {
			select {
			case semaphore <- struct{}{}:
				hold(1)
				return func() { <-semaphore; hold(-1) }, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		Rules: func(context.Context, modules.Host, json.RawMessage) (wire.Health, string, error) {
			return wire.HealthOK, "", nil
		},
	}
	var order []int
	failed := map[int]bool{}
	stopped, err := e.Run(ctx, &cat, func(r *wire.Result) error {
		order = append(order, r.Index)
		failed[r.Index] = r.Status == wire.Failed || r.Message == "skipped due to unmet requirement"
		if r.Status == wire.Changed || r.Status == "" {
			for _, j := range cat.Entries[r.Index].Require {
				require.False(t, failed[j], "%d is done without %d", r.Index, j)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(order) < len(cat.Entries), stopped)
	require.False(t, clash)
	require.Zero(t, <-held)
	for i, entry := range cat.Entries {
		place := slices.Index(order, i)
		if place < 0 {
			continue
		}
		require.NotContains(t, order[place+1:], i, "once")
		before := slices.Concat(entry.Require, entry.Subscribe, entry.After)
		for j := i - 1; entry.Scope != nil && j >= i-entry.Scope.Entries; j-- {
			before = append(before, j)
		}
		for _, j := range before {
			require.Contains(t, order[:place], j, "%d comes behind %d", i, j)
		}
	}
}

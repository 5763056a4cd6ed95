package record

import (
	"cmp"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// Told holds the reported results of earlier runs, as far as their records are in the store. It is safe for concurrent
// use; nil has no results.
type Told struct {
	store Store
	mu    sync.Mutex
	runs  map[string]toldRun // by id
}

// maxTold bounds the runs that are read: hosts name them.
const maxTold = 32

// A toldRun has the reported results of one run; zero without a record.
type toldRun struct {
	plays   []string // their names
	results map[toldOf]map[events.UntoldResult]int
}

type toldOf struct{ play, host, of string } // of is the host that the resource ran for; empty means its own host

// Told returns the reported results of the runs of the store.
func (s Store) Told() *Told { return &Told{store: s, runs: map[string]toldRun{}} }

// Of returns the reported changes and failures of a host in a play, with their counts. It includes reports of the run,
// and of the runs that resumed it. If of is empty, they are results of the host's own resources; otherwise of resources
// that ran on the host for the host of. The first play is 1. The results have no texts.
func (t *Told) Of(run string, play int, host, of string) map[events.UntoldResult]int {
	if t == nil || !IsID(run) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, read := t.runs[run]; !read && len(t.runs) < maxTold {
		t.runs[run] = t.store.told(run)
	}
	r := t.runs[run]
	if play < 1 || play > len(r.plays) {
		return nil
	}
	return r.results[toldOf{r.plays[play-1], host, of}]
}

// told reads a run, as far as that is possible.
func (s Store) told(id string) toldRun {
	run, err := s.open(id)
	if err != nil {
		return toldRun{}
	}
	told := toldRun{results: map[toldOf]map[events.UntoldResult]int{}}
	for _, play := range run.Plays {
		told.plays = append(told.plays, play.Name)
	}
	told.add(run)
	// A resume may have the result of a resource from the host that it is for. The host where it ran does not know that.
	chain, _ := s.Chain(run) // without the other records, only its own results are known
	for _, later := range chain {
		if later.Origin.Epoch > run.Origin.Epoch {
			told.add(later)
		}
	}
	return told
}

// add counts the results of a run, as far as that is possible.
func (t toldRun) add(run *Run) {
	for e, err := range run.Events() {
		if err != nil {
			break
		}
		r, ok := e.(events.Result)
		if !ok || r.Check || r.Status != events.Changed && !r.Status.HasFailed() {
			continue
		}
		of := toldOf{r.Play, cmp.Or(r.On, r.Host), ""} // the host that keeps it
		if of.host != r.Host {
			of.of = r.Host
		}
		if t.results[of] == nil {
			t.results[of] = map[events.UntoldResult]int{}
		}
		t.results[of][events.UntoldResult{Type: r.Type, Name: r.Name, Status: r.Status}]++
	}
}

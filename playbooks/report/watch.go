package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// Watch is a reporter that knows the current state of watched hosts. It may be queried at any time.
type Watch struct {
	version string
	now     func() time.Time

	mu        sync.Mutex
	began     time.Time // zero before hosts are watched
	toBe      int       // number of hosts to watch
	hosts     map[string]*watchedHost
	drifts    int // number of reported drifts
	mended    int // repairs
	unmended  int
	fights    int
	exhausted int
	losses    int
}

// A watchedHost is the state of one host.
type watchedHost struct {
	watched   bool
	lost      time.Time // since when it is not; zero if it never was
	resources int
	polled    int
	astray    map[string]bool // drifted resources; true if another program fights over it
}

// NewWatch returns the reporter for a run of this version of the program.
func NewWatch(version string, now func() time.Time) *Watch {
	return &Watch{version: version, now: now, hosts: map[string]*watchedHost{}}
}

// Report takes an event.
func (w *Watch) Report(e events.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case events.WatchStart:
		w.began, w.toBe, w.hosts = e.Time, e.Hosts, map[string]*watchedHost{} // a host of an earlier run may be gone
	case events.Watched:
		h := w.host(e.Host)
		h.watched, h.resources, h.polled = true, e.Resources, e.Polled
	case events.Unwatched:
		h := w.host(e.Host)
		if h.watched {
			w.losses++
		}
		h.watched, h.lost = false, e.Since
	case events.Drifted:
		h, ref := w.host(e.Host), e.Play+"\x00"+e.Type+"#"+e.Name
		if e.Settled {
			delete(h.astray, ref)
			return
		}
		w.drifts++
		if !h.astray[ref] { // otherwise the fight continues
			h.astray[ref] = false
		}
	case events.Repaired:
		if e.Error != "" {
			w.unmended++
			return
		}
		w.mended++
		delete(w.host(e.Host).astray, e.Play+"\x00"+e.Type+"#"+e.Name)
	case events.Fighting:
		if len(e.Values) == 0 {
			w.exhausted++
			return
		}
		w.fights++
		w.host(e.Host).astray[e.Play+"\x00"+e.Type+"#"+e.Name] = true
	}
}

func (w *Watch) host(name string) *watchedHost {
	h := w.hosts[name]
	if h == nil {
		h = &watchedHost{astray: map[string]bool{}}
		w.hosts[name] = h
	}
	return h
}

// counts are hosts that are watched, and resources that have drifted and are fought over.
func (w *Watch) counts() (watched, drifted, fighting int) {
	for _, h := range w.hosts {
		if h.watched {
			watched++
		}
		drifted += len(h.astray)
		fighting += h.fighting()
	}
	return watched, drifted, fighting
}

func (h *watchedHost) fighting() (n int) {
	for _, fights := range h.astray {
		if fights {
			n++
		}
	}
	return n
}

// Status returns a line about the state of the hosts; "" before they are watched.
func (w *Watch) Status() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		return ""
	}
	watched, drifted, fighting := w.counts()
	return fmt.Sprintf("%d of %d hosts watched; resources drifted: %d, of these fighting: %d; repaired: %d", watched, w.toBe, drifted, fighting, w.mended)
}

// Metrics writes what Prometheus scrapes.
func (w *Watch) Metrics(to io.Writer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := metrics{w: to}
	m.family("ccm_push_build_info", "Version of ccm-push; the value is 1.", sample{"version", w.version, 1})
	if w.began.IsZero() {
		return m.err // the plays are not over
	}
	watched, drifted, fighting := w.counts()
	resources, polled := 0, 0
	for _, h := range w.hosts {
		resources, polled = resources+h.resources, polled+h.polled
	}
	m.family("ccm_push_watch_start_timestamp_seconds", "When the plays were over and hosts began to be watched.", sample{value: unixSeconds(w.began)})
	m.family("ccm_push_watch_hosts", "Hosts of the run, by whether they are watched now.",
		sample{"state", "watched", float64(watched)}, sample{"state", "unwatched", float64(w.toBe - watched)})
	m.family("ccm_push_watch_resources", "Watched resources: all, and polled ones, whose changes cause no event.",
		sample{"how", "all", float64(resources)}, sample{"how", "polled", float64(polled)})
	m.family("ccm_push_watch_drifted_resources", "Resources that have drifted.", sample{value: float64(drifted)})
	m.family("ccm_push_watch_fighting_resources", "Drifted resources that are not repaired because something else keeps changing them.", sample{value: float64(fighting)})
	m.counter("ccm_push_watch_drifts_total", "How often drift was reported.", sample{value: float64(w.drifts)})
	m.counter("ccm_push_watch_repairs_total", "Repairs of resources, by result.",
		sample{"result", "repaired", float64(w.mended)}, sample{"result", "failed", float64(w.unmended)})
	m.counter("ccm_push_watch_fights_total", "How often repairs of a resource stopped because something else kept changing it.", sample{value: float64(w.fights)})
	m.counter("ccm_push_watch_budgets_spent_total", "How often a resource reached its limit of repairs.", sample{value: float64(w.exhausted)})
	m.counter("ccm_push_watch_lost_sessions_total", "How often the session of a watched host was lost.", sample{value: float64(w.losses)})
	w.eachHost(&m)
	return m.err
}

func (w *Watch) eachHost(m *metrics) {
	var watched, seen, drifted, fighting []sample
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		h := w.hosts[name]
		at := h.lost
		if h.watched {
			at = w.now() // its session is open
		}
		watched = append(watched, sample{"host", name, truth(h.watched)})
		seen = append(seen, sample{"host", name, unixSeconds(at)})
		drifted = append(drifted, sample{"host", name, float64(len(h.astray))})
		fighting = append(fighting, sample{"host", name, float64(h.fighting())})
	}
	m.family("ccm_push_watch_host_watched", "Whether the host is watched.", watched...)
	m.family("ccm_push_watch_host_last_seen_timestamp_seconds", "When the host was last watched: now, as long as it is.", seen...)
	m.family("ccm_push_watch_host_drifted_resources", "Resources of the host that have drifted.", drifted...)
	m.family("ccm_push_watch_host_fighting_resources", "Drifted resources of the host that are not repaired because something else keeps changing them.", fighting...)
}

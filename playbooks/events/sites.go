package events

// SiteWaits reports that hosts of a site wait for a worker, or that a worker serves the site again.
type SiteWaits struct {
	Stamp
	Site   string   `json:"site" doc:"the site; empty means hosts without a site"`
	Hosts  []string `json:"hosts" doc:"the hosts that wait; none: a worker serves the site again"`
	Worker string   `json:"worker,omitempty" doc:"the worker that serves the site again"`
	Text   string   `json:"text" doc:"the same for people, with the next step"`
}

func (SiteWaits) name() string { return "site_waits" }

func (e SiteWaits) stamped(s Stamp) Event { e.Stamp = s; return e }

package events

import "time"

// ResourceStart reports that a resource may begin on a host from now on. It is reported for resources that concern
// several hosts (once, sema), before the host may begin. A run that resumes this one finds in it the hosts on which
// they may be in progress.
type ResourceStart struct {
	Stamp
	Play       string        `json:"play" doc:"name of the play"`
	Host       string        `json:"host" doc:"the host that it is for"`
	On         string        `json:"on,omitempty" doc:"where it runs, if that is another host than that; controller is where ccm-push runs"`
	Type       string        `json:"type" doc:"of the resource"`
	Name       string        `json:"name" doc:"of the resource"`
	Alias      string        `json:"alias,omitempty" doc:"of the resource"`
	Once       string        `json:"once,omitempty" doc:"as in its result"`
	Semaphores []string      `json:"semaphores,omitempty" doc:"the semaphores that its host holds now"`
	Within     time.Duration `json:"-"` // deadline after which it is not in progress any more; 0 means none
}

// Where returns the host where the resource runs.
func (e ResourceStart) Where() string {
	if e.On != "" {
		return e.On
	}
	return e.Host
}

func (ResourceStart) name() string            { return "resource_start" }
func (e ResourceStart) stamped(s Stamp) Event { e.Stamp = s; return e }

// resourceStartFields is its form in JSON.
type resourceStartFields struct {
	ResourceStart
	WithinMS milliseconds `json:"within_ms,omitempty" doc:"its deadline: after that it is not in progress any more; not there without one"`
}

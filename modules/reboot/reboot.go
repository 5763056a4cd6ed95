package reboot

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Reboot restarts the host at its place in the manifest. The connection is lost; the controller dials until the host
// is back, and the run continues after the resource. The kernel's boot id (random(4)) identifies a boot.
type Reboot struct {
	Name string `json:"name" required:"true" doc:"purpose of the restart, in words"`
	When string `json:"when,omitempty" event:"no" enum:"pending,notified,always" default:"pending" doc:"pending: if the host requires it, such as after an update of its kernel; notified: if a resource that it subscribes to has changed; always: in each run"`
	modules.Event
	Timeout string `json:"timeout,omitempty" default:"10m" looks:"^([0-9.]+(ms|s|m|h))+$" doc:"how long the host may take until one can log in to it again"`

	again bool // see Inform
}

const (
	pending  = "pending"
	notified = "notified"
	always   = "always"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "reboot",
		Doc: "Restarts the host if it requires a restart or the resource is notified. The run waits for the host and " +
			"then continues. A host that is not back before the timeout is unreachable.",
		New: func() modules.Resource { return new(Reboot) },
	}
}

// Requires implements [modules.Requirer].
func (r *Reboot) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (r *Reboot) Validate() error {
	_, err := r.timeout()
	return err
}

// timeout is how long the host may take.
func (r *Reboot) timeout() (time.Duration, error) {
	const least, most = 10 * time.Second, 24 * time.Hour
	if r.Timeout == "" { // not known yet
		return most, nil
	}
	d, err := time.ParseDuration(r.Timeout)
	if err != nil || d < least || d > most {
		return 0, modules.Errorf("timeout", `timeout %q is not a duration from 10s to 24h`, r.Timeout)
	}
	return d, nil
}

// Restarts implements [modules.Restarter].
func (r *Reboot) Restarts() time.Duration {
	d, _ := r.timeout() // Validate has checked it
	return d
}

// Inform implements [modules.Informed].
func (r *Reboot) Inform(c modules.Circumstances) { r.again = c.Again }

// Recurs implements [modules.Recurrer]: hosts request restarts repeatedly.
func (r *Reboot) Recurs(modules.Plan) bool { return r.When != notified }

// Refresh implements [modules.Refresher].
func (r *Reboot) Refresh(_ context.Context, h modules.Host, p modules.Plan) (modules.Plan, error) {
	if p.Pending() { // it starts again anyway, or has
		p.Refreshed = true
		return p, nil
	}
	p, err := r.restart(h, "notified")
	p.Refreshed = err == nil
	return p, err
}

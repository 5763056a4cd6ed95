package runs

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
	"github.com/ccm-push/ccm-push/playbooks/tell"
)

// watchTellFlags are the flags for other receivers of the events of watched hosts.
type watchTellFlags struct {
	hooks  []string
	listen string
}

func (f *watchTellFlags) register(set *pflag.FlagSet) {
	set.StringArrayVar(&f.hooks, "on-drift", nil, "run this `command` for each event (drift, repair, fight, host lost or back); the command reads the event as JSON on standard input")
	set.StringVar(&f.listen, "listen", "", "serve Prometheus metrics at http://`address`/metrics: PORT (on 127.0.0.1) or HOST:PORT")
}

// reporters returns the reporters for these receivers. The caller calls closeAll when the run has ended. Errors at that
// time are warnings.
func (f *watchTellFlags) reporters(ctx context.Context, a *app.App) (to []events.Reporter, closeAll func(), err error) {
	var open []func() error
	closeAll = func() {
		for _, one := range open {
			if err := one(); err != nil {
				a.Warn(err.Error())
			}
		}
	}
	state := report.NewWatch(a.Version, time.Now)
	to = append(to, state)
	for _, command := range f.hooks {
		hook, err := tell.NewHook(command, a.Warn)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("--on-drift: %w", err)
		}
		hook.Start(ctx)
		to, open = append(to, hook), append(open, hook.Close)
	}
	if f.listen != "" {
		listener, err := tell.Listen(ctx, f.listen, state.Metrics)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		a.Say("metrics: http://" + listener.Address() + "/metrics")
		open = append(open, listener.Close)
	}
	manager, err := tell.NewManager(a.Getenv, os.Getpid(), state)
	switch {
	case err != nil:
		a.Warn("the service manager gets no state: " + err.Error())
	case manager != nil:
		stopped, end := a.UntilStop(ctx)
		manager.Start(stopped)
		to, open = append(to, manager), append(open, func() error {
			end()
			return manager.Close()
		})
	}
	return to, closeAll, nil
}

package engine

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// acting is the Host that Apply is given.
func (t *turn) acting() modules.Host {
	given := t.run.real.host
	given.Report, given.Forecast = t.said, modules.NoForecast{}
	if t.run.engine.Follow != nil && !t.job.secret {
		given.Commands = followed{given.Commands, t}
	}
	return given
}

// followed are commands whose output is handed on as it comes.
type followed struct {
	modules.Commands
	turn *turn
}

// Run implements [modules.Commands].
func (f followed) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	if c.Follow {
		follow, index, onLine := f.turn.run.engine.Follow, f.turn.job.index, c.OnLine
		c.OnLine = func(line string) {
			if onLine != nil {
				onLine(line)
			}
			follow(index, false, line)
		}
		c.OnErrorLine = func(line string) { follow(index, true, line) }
	}
	return f.Commands.Run(ctx, c)
}

package fleet

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/rollout/control"
)

// A steering accepts commands from other terminals for the rollouts of a run, or for a run that watches, from its
// beginning. It is a reporter after the recorder, which has made the folder by then.
type steering struct {
	app      *app.App
	folder   string // path of the run's folder
	requests chan rollout.Request
	server   *control.Server
}

// newSteering returns the steering of a recorded run that has rollouts or watches; nil for other runs.
func newSteering(r *playbooks.Runner, given *flags.All, a *app.App) *steering {
	hasRollout := func(p *manifest.Play) bool { return p.Rollout != nil }
	if given.Record.None || r.Options.Check || r.Options.Monitor || r.Options.Watch == nil && !slices.ContainsFunc(r.Plays, hasRollout) {
		return nil
	}
	store, err := a.Records()
	if err != nil { // the recorder reports this error
		return nil
	}
	s := &steering{app: a, folder: store.FolderOf(r.Options.Run), requests: make(chan rollout.Request)}
	r.Steer = s.requests
	return s
}

func (s *steering) reporters() []events.Reporter {
	if s == nil {
		return nil
	}
	return []events.Reporter{s}
}

// Report opens the socket when the run begins.
func (s *steering) Report(e events.Event) {
	if _, begins := e.(events.RunStart); !begins {
		return
	}
	var err error
	s.server, err = control.Listen(s.folder, s.requests)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a folder the run is not recorded, which is already reported
		s.app.Warn("nothing can be said to this run from another terminal: " + err.Error())
	}
}

func (s *steering) close() {
	if s == nil || s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.app.Warn("closing the socket of the run: " + err.Error())
	}
}

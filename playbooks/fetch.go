package playbooks

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
)

// checkFetches refuses plays that fetch files where nothing is recorded.
func (r *Runner) checkFetches() error {
	if r.Fetched != nil || r.Options.Check || r.Workers != nil {
		return nil
	}
	var errs yamlpos.Errors
	for _, play := range r.Plays {
		manifest.Walk(play.Resources, func(res *manifest.Resource, _ int) {
			if !res.Unselected && res.Query == "" && fetches(res.Type) {
				errs.Add(res.Name.Node.Errorf("run it without --no-record", "what it fetches is kept in the record of the run, and this run has none"))
			}
		})
	}
	return errs.Err()
}

// fetches reports whether resources of a type hand files over to the controller.
func fetches(t modules.Type) bool {
	if t.New == nil { // a block has none
		return false
	}
	_, is := t.New().(modules.Fetcher)
	return is
}

// fetch gives what takes the files that a host hands over; nil where the run has no place for them.
func (r *Runner) fetch(host string) func(*wire.Entry) (session.File, error) {
	if r.Fetched == nil {
		return nil
	}
	return func(e *wire.Entry) (session.File, error) {
		file, err := r.Fetched.Create(host, e.Name, e.Sensitive)
		if err != nil { // and no file that is nil
			return nil, err
		}
		return file, nil
	}
}

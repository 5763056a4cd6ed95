package playbooks

import (
	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory"
)

// askAll asks hosts, as many at once as the run may, and gives emit each answer as it
// comes, one at a time.
func askAll[Answer any](r *Runner, hosts []*inventory.Host, ask func(*inventory.Host) Answer, emit func(Answer)) {
	answers := make(chan Answer)
	var g errgroup.Group
	g.SetLimit(r.forks())
	go func() {
		for _, h := range hosts {
			g.Go(func() error {
				answers <- ask(h)
				return nil
			})
		}
		g.Wait()
		close(answers)
	}()
	for a := range answers {
		emit(a)
	}
}

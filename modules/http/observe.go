package http

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subjects implements [modules.SubjectNamer]: the changes of a server are unknown.
func (r *HTTP) Subjects() []string { return []string{"http " + r.Name} }

// Watch implements [modules.Watcher].
func (r *HTTP) Watch(context.Context, modules.Host) (from modules.Sources, err error) {
	for _, file := range []string{r.CA, r.Socket} {
		if file != "" {
			from.Paths = append(from.Paths, file)
		}
	}
	if r.readOnly() || r.Unless != "" {
		from.Polled = "the server's response"
	}
	return from, nil
}

type state struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Why    string `json:"why,omitempty"` // the answer is not right
}

// Describe implements [modules.Describer]: it sends only read-only requests.
func (r *HTTP) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	is := state{Name: r.Name, URL: modules.ShownURL(r.URL)}
	d := modules.Description{Ensure: "present", Provider: "http"}
	if r.readOnly() {
		a, err := r.send(ctx, h)
		is.Status = a.code
		if err == nil {
			err = a.wrong(r.Status, r.Values)
		}
		if err != nil {
			is.Why = err.Error()
		}
	}
	d.State = is
	return d, nil
}

package playbooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/templates"
)

// Lookups are the requests to NATS of functions in templates.
type Lookups interface {
	// Reach returns why NATS cannot be reached, or nil.
	Reach(ctx context.Context) error
	// Snapshot returns data that are the same for all hosts of a play.
	Snapshot() templates.NATS
}

// snapshot returns a function with the data for the hosts of a play; its result is nil without NATS. A worker requests
// them, under the name of a host.
func (r *Runner) snapshot() func(host string) templates.NATS {
	if r.Controller != nil {
		known := &sync.Map{}
		return func(host string) templates.NATS { return &askedNATS{r.Controller, host, known} }
	}
	if r.Lookups == nil {
		return func(string) templates.NATS { return nil }
	}
	kept := r.Lookups.Snapshot()
	return func(string) templates.NATS { return kept }
}

// checkLookups reports all places of a play that need NATS if none is configured. A worker's plays have been checked
// before.
func (r *Runner) checkLookups(c *catalog.Compiler) error {
	if r.Lookups != nil || r.Controller != nil {
		return nil
	}
	var errs []error
	for _, call := range c.NATSCalls() {
		errs = append(errs, templates.NoNATS(call))
	}
	return together(errs...)
}

// reachLookups returns an error if NATS cannot be reached, at the first place of a play that needs it.
func (r *Runner) reachLookups(ctx context.Context, compilers []*catalog.Compiler) error {
	for _, c := range compilers {
		calls := c.NATSCalls()
		if len(calls) == 0 {
			continue
		}
		if err := r.Lookups.Reach(ctx); err != nil {
			return templates.NATSFailed(calls[0], err)
		}
		return nil
	}
	return nil
}

// A Lookup is a worker's request for data in NATS, which it cannot reach itself.
type Lookup struct {
	Key          []string `json:"key,omitempty"`          // a bucket, and a key in it
	Registration []string `json:"registration,omitempty"` // cluster, protocol, service, address
}

// A Looked is the value of the answer.
type Looked struct {
	Value      []byte           `json:"value,omitempty"`
	Registered yamlpos.Portable `json:"registered,omitzero"`
}

// askedNATS has the data in NATS, on a worker.
type askedNATS struct {
	controller Controller
	host       string
	known      *sync.Map // answers for the hosts of the play, by request
}

// Value implements [templates.NATS].
func (n *askedNATS) Value(ctx context.Context, bucket, key string) ([]byte, error) {
	found, err := n.look(ctx, Lookup{Key: []string{bucket, key}})
	return found.Value, err
}

// Registrations implements [templates.NATS].
func (n *askedNATS) Registrations(ctx context.Context, cluster, protocol, service, address string) ([]any, error) {
	found, err := n.look(ctx, Lookup{Registration: []string{cluster, protocol, service, address}})
	if err != nil || found.Registered.Node == nil {
		return nil, err
	}
	list, _ := found.Registered.Any().([]any)
	return list, nil
}

func (n *askedNATS) look(ctx context.Context, l Lookup) (Looked, error) {
	of := strings.Join(slices.Concat(l.Key, l.Registration), "\x00")
	if found, ok := n.known.Load(of); ok {
		return found.(Looked), nil
	}
	found, err := request(ctx, n.controller, n.host, l)
	if err == nil {
		n.known.Store(of, found)
	}
	return found, err
}

// answer answers a worker, whose hosts get the same data as all others. It refuses requests that no play of theirs
// contains.
func (l Lookup) answer(a *answerer) (found Looked, err error) {
	function := templates.KVGetFunction
	if l.Registration != nil {
		function = templates.RegistrationsFunction
	}
	nats := a.of.values.nats(a.host)
	if nats == nil || !a.of.asksNATS(function) || len(l.Key) != 2 && len(l.Registration) != 4 {
		return found, fmt.Errorf("the play does not call it: write %s in the play itself, not in text that the play generates", function)
	}
	if k := l.Key; k != nil {
		found.Value, err = nats.Value(a.ctx, k[0], k[1])
	} else {
		var list []any
		r := l.Registration
		list, err = nats.Registrations(a.ctx, r[0], r[1], r[2], r[3])
		found.Registered.Node = yamlpos.From(&yamlpos.Node{File: function}, list)
	}
	return found, err
}

// asksNATS reports whether a play, or a part of its rollout, calls a function that needs NATS.
func (s *selection) asksNATS(function string) bool {
	all := append([]*catalog.Compiler{s.compiler}, s.parts.all()...)
	return slices.ContainsFunc(all, func(c *catalog.Compiler) bool { return c != nil && asksNATS(c, function) })
}

// asksNATS reports whether a play calls a function that needs NATS.
func asksNATS(c *catalog.Compiler, function string) bool {
	return slices.ContainsFunc(c.NATSCalls(), func(call templates.NATSCall) bool { return call.Function == function })
}

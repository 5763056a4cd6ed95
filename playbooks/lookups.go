package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/templates"
)

// Lookups give what functions of templates ask NATS for.
type Lookups interface {
	// Reach reports why NATS cannot be asked, or nil.
	Reach(ctx context.Context) error
	// Snapshot gives what all hosts of a play are told alike.
	Snapshot() templates.NATS
}

// snapshot gives what the hosts of a play are told; what it gives is nil where that is nothing. A worker
// asks for it, under the name of a host.
func (r *Runner) snapshot() func(host string) templates.NATS {
	if r.AskShared != nil {
		known := &sync.Map{}
		return func(host string) templates.NATS { return &askedNATS{r.AskShared, host, known} }
	}
	if r.Lookups == nil {
		return func(string) templates.NATS { return nil }
	}
	kept := r.Lookups.Snapshot()
	return func(string) templates.NATS { return kept }
}

// checkLookups reports all places of a play that ask NATS where none is given. Of a worker's plays
// that has been found out before.
func (r *Runner) checkLookups(c *catalog.Compiler) error {
	if r.Lookups != nil || r.AskShared != nil {
		return nil
	}
	var errs []error
	for _, call := range c.NATSCalls() {
		errs = append(errs, templates.NoNATS(call))
	}
	return together(errs...)
}

// reachLookups reports that NATS cannot be asked, where the first play asks it.
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

// A Lookup is what a worker asks of what is kept in NATS: it has no way there.
type Lookup struct {
	Key          []string `json:"key,omitempty"`          // a bucket, and a key in it
	Registration []string `json:"registration,omitempty"` // cluster, protocol, service, address
}

// A Looked is what there is.
type Looked struct {
	Value      []byte           `json:"value,omitempty"`
	Registered yamlpos.Portable `json:"registered,omitzero"`
}

// askedNATS is what is kept in NATS, at a worker.
type askedNATS struct {
	ask   func(ctx context.Context, host string, q Question) (Answer, error)
	host  string
	known *sync.Map // what the hosts of the play have been told, by what they asked
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
	a, err := n.ask(ctx, n.host, Question{Lookup: &l})
	switch {
	case err != nil:
		return Looked{}, err
	case a.Over:
		return Looked{}, context.Canceled
	case a.Error != "":
		return Looked{}, errors.New(a.Error)
	}
	n.known.Store(of, *a.Looked)
	return *a.Looked, nil
}

// looked answers a worker, in which hosts are that are told what all are. Of what no play of theirs is
// seen to ask, it is told nothing.
func (a *answerer) looked(l *Lookup) Answer {
	function := templates.KVGetFunction
	if l.Registration != nil {
		function = templates.RegistrationsFunction
	}
	nats := a.of.values.nats(a.host)
	if nats == nil || !a.of.asksNATS(function) || len(l.Key) != 2 && len(l.Registration) != 4 {
		return Answer{Error: fmt.Sprintf("the play does not call it: write %s in the play itself, not in text that the play generates", function)}
	}
	var found Looked
	var err error
	if k := l.Key; k != nil {
		found.Value, err = nats.Value(a.ctx, k[0], k[1])
	} else {
		var list []any
		r := l.Registration
		list, err = nats.Registrations(a.ctx, r[0], r[1], r[2], r[3])
		found.Registered.Node = yamlpos.From(&yamlpos.Node{File: function}, list)
	}
	return waited(Answer{Looked: &found}, err)
}

// asksNATS reports whether a play, or a part of its rollout, calls a function that asks NATS.
func (s *selection) asksNATS(function string) bool {
	all := append([]*catalog.Compiler{s.compiler}, s.parts.all()...)
	return slices.ContainsFunc(all, func(c *catalog.Compiler) bool { return c != nil && asksNATS(c, function) })
}

// asksNATS reports whether a play calls a function that asks NATS.
func asksNATS(c *catalog.Compiler, function string) bool {
	return slices.ContainsFunc(c.NATSCalls(), func(call templates.NATSCall) bool { return call.Function == function })
}

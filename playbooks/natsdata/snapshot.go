package natsdata

import (
	"context"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/templates"
)

// Reach returns why NATS cannot be reached, or nil.
func (r Registry) Reach(ctx context.Context) error {
	_, err := r.Store.Link.JetStream(ctx)
	return err
}

// Snapshot returns data as of their first request. A play has one, so that all of its hosts get the same data, and the
// next play sees the registrations of this one.
func (r Registry) Snapshot() templates.NATS { return &snapshot{registry: r} }

type snapshot struct {
	registry Registry

	mu    sync.Mutex
	asked map[[4]string]*answer[[]any]
}

// Value returns the value under a key of a bucket, the same for the whole run.
func (s *snapshot) Value(ctx context.Context, bucket, key string) ([]byte, error) {
	return s.registry.Store.Value(ctx, bucket, key)
}

// Registrations implements [templates.NATS].
func (s *snapshot) Registrations(ctx context.Context, cluster, protocol, service, address string) ([]any, error) {
	of := [4]string{cluster, protocol, service, address}
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[[4]string]*answer[[]any]{}
	}
	if s.asked[of] == nil {
		s.asked[of] = &answer[[]any]{}
	}
	a := s.asked[of]
	s.mu.Unlock()
	return a.get(ctx, func(ctx context.Context) ([]any, error) {
		list, err := s.registry.Registered(ctx, cluster, protocol, service, address)
		return plain(list), err
	})
}

// plain are registrations as plain values, with the keys that CCM has in templates.
func plain(list []registry.Registration) []any {
	values := make([]any, len(list))
	for i, r := range list {
		annotations := make(map[string]any, len(r.Annotations))
		for key, text := range r.Annotations {
			annotations[key] = text
		}
		one := map[string]any{
			"Cluster": r.Cluster, "Service": r.Service, "Protocol": r.Protocol, "Address": r.Address, "Port": nil,
			"Priority": int64(r.Priority), "TTL": r.TTL.String(), "Annotations": annotations,
		}
		if r.Port != nil {
			one["Port"] = int64(*r.Port)
		}
		values[i] = one
	}
	return values
}

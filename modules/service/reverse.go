package service

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (s *Service) Subject() string { return "service " + unitName(s.Name) }

// Reversal implements [modules.Reverser]: whether it runs, and what the resource says of
// enable and masked.
func (s *Service) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	k, _ := kept.(*Service)
	if k != nil && (s.Enable == nil || k.Enable != nil || is(k.Masked, true)) && (s.Masked == nil || k.Masked != nil) {
		return nil, nil
	}
	_, u, err := s.find(ctx, h)
	if err != nil {
		return nil, err
	}
	properties := map[string]any{"timeout": s.Timeout}
	if s.Provider != "" {
		properties["provider"] = s.Provider
	}
	switch {
	case u.runs():
		properties["ensure"] = running
	case u.stopped(), u.state == crashed:
		properties["ensure"] = stopped
	default:
		return nil, modules.Refuse("service %s is %s, neither running nor stopped", u.id, u.state)
	}
	if s.Enable != nil {
		properties["enable"] = u.enabled()
	}
	if s.Masked != nil {
		properties["masked"] = u.masked()
		if u.masked() {
			delete(properties, "enable") // what is below a mask cannot be seen
		}
	}
	if k != nil { // what is missing in it was left alone until now
		properties["ensure"] = k.Ensure
		if k.Enable != nil {
			properties["enable"] = *k.Enable
		}
		if k.Masked != nil {
			properties["masked"] = *k.Masked
		}
	}
	return properties, nil
}

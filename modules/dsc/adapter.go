package dsc

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// adapter finds the adapter of a resource in the same place, or else on the host, or nil.
func (s *search) adapter(ctx context.Context, of located, beside []located) (*located, error) {
	look := func(all []located) (*located, error) {
		var list []located
		for _, l := range all {
			if l.Is(of.RequireAdapter) && l.Adapter != nil {
				list = append(list, l)
			}
		}
		slices.SortStableFunc(list, func(a, b located) int { return newer(a.Version, b.Version) })
		for i := range list {
			if ok, err := s.applies(ctx, list[i]); ok || err != nil {
				return &list[i], err
			}
		}
		return nil, nil
	}
	if l, err := look(beside); l != nil || err != nil {
		return l, err
	}
	installed, err := s.installed(ctx)
	if err != nil {
		return nil, err
	}
	return look(installed)
}

// listed requests from the adapters the resources that they can run, since no manifest describes the type; nil if none
// has it.
func (s *search) listed(ctx context.Context, all []located) (*resource, error) {
	for _, adapter := range all {
		if adapter.Adapter == nil || adapter.Adapter.List == nil || s.d.Adapter != "" && !adapter.Is(s.d.Adapter) {
			continue
		}
		if ok, err := s.applies(ctx, adapter); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		resources, err := s.list(ctx, adapter)
		if err != nil {
			return nil, err
		}
		fitting, err := s.fitting(ctx, resources)
		if err != nil {
			return nil, err
		}
		if len(fitting) > 0 {
			return s.found(adapter, fitting[0])
		}
	}
	return nil, nil
}

// list runs the list of an adapter: one JSON object per line.
func (s *search) list(ctx context.Context, adapter located) ([]located, error) {
	rs, err := s.found(adapter, adapter)
	if err != nil {
		return nil, err
	}
	exit, err := rs.call(ctx, call{name: "list", operation: adapter.Adapter.List})
	if err != nil {
		return nil, err
	}
	var all []located
	for line := range strings.Lines(exit.Stdout.Text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m, err := manifest.ParseListed(json.RawMessage(withAdapter(line, adapter.Type)))
		if err != nil {
			s.reject(adapter.file, typeIn(line), modules.Refuse("its list has a line that cannot be used, %s: %w", process.Quote(line), err))
			continue
		}
		if strings.EqualFold(m.RequireAdapter, adapter.Type) {
			all = append(all, located{m, adapter.file})
		}
	}
	return all, nil
}

// withAdapter adds the adapter to a line of its own list that does not name it.
func withAdapter(line, adapter string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &object) != nil || object["requireAdapter"] != nil {
		return line
	}
	object["requireAdapter"], _ = json.Marshal(adapter)
	b, err := json.Marshal(object)
	if err != nil {
		return line
	}
	return string(b)
}

func typeIn(line string) string {
	var m struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal([]byte(line), &m)
	return m.Type
}

package service

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Preload implements [modules.Preloader]. systemd tells of many units at once;
// OpenRC does not.
func (s *Service) Preload(ctx context.Context, h modules.Host, all []modules.Resource) (any, error) {
	var names []string
	for _, res := range all {
		other, ok := res.(*Service)
		if !ok {
			continue
		}
		m, err := other.manager(h)
		if err != nil {
			return nil, err
		}
		if _, ok := m.(systemd); ok {
			names = append(names, unitName(other.Name))
		}
	}
	slices.Sort(names)
	units := map[string]unit{}
	for part := range slices.Chunk(slices.Compact(names), maxUnits) {
		if err := showAll(ctx, h, part, units); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// maxUnits bounds the units of one question, so that the answer is far below
// [modules.MaxOutput] unless units have very many files.
const maxUnits = 40

// showAll asks systemd about units and adds what it says of them. An answer that
// is not whole says nothing.
func showAll(ctx context.Context, h modules.Host, names []string, units map[string]unit) error {
	exit, err := query(ctx, h, true, systemctl(append([]string{"show", "--property=" + properties, "--"}, names...)...)...)
	if err != nil || exit.Code != 0 || exit.Stdout.Dropped > 0 {
		return err
	}
	parts := strings.Split(strings.TrimSuffix(exit.Stdout.Text, "\n"), "\n\n")
	if len(parts) != len(names) {
		return nil
	}
	for i, name := range names {
		// They stand in the order of the question; one that calls itself otherwise
		// would be the answer to another one.
		if u := parseShow("", parts[i]); slices.Contains(u.names, name) {
			units[name] = u
		}
	}
	return nil
}

// recall gives what Preload has found out about a unit. certain has the meaning
// that it has for query.
func recall(h modules.Host, name string, certain bool) (unit, bool) {
	var reads modules.EffectKind
	if certain {
		reads = unitEffect
	}
	units, _ := h.Preloaded(reads).(map[string]unit)
	u, ok := units[name]
	return u, ok
}

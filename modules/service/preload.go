package service

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Preload implements [modules.Preloader]. systemd describes many units in one call; OpenRC cannot.
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

// showAll queries systemd about units and adds its answers. It ignores an incomplete answer.
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
		// The answers are in the order of the names; one with another name would belong to another unit.
		if u := parseShow("", parts[i]); slices.Contains(u.names, name) {
			units[name] = u
		}
	}
	return nil
}

// recall returns a unit that Preload has found.
func recall(h modules.Host, name string) (unit, bool) {
	units, _ := h.Preloaded(unitEffect).(map[string]unit)
	u, ok := units[name]
	return u, ok
}

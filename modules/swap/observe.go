package swap

import (
	"context"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// Subject implements [modules.Reverser].
func (s *Swap) Subject() string { return "swap " + s.Name }

// Reversal implements [modules.Reverser]: whether the file existed, its size, whether it was active, and the current
// fstab. A device stays a swap area.
func (s *Swap) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	is, err := s.now(ctx, h)
	if err != nil {
		return nil, err
	}
	back := map[string]any{"ensure": absent}
	if is.active || is.exists && !s.device() && is.size >= leastOf {
		back["ensure"] = present
		if !s.device() {
			back["size"] = strconv.FormatInt(is.size-is.size%page, 10)
		}
		if is.active {
			back["ensure"] = active
		}
		if is.active && is.priority >= 0 { // otherwise the kernel chooses it
			back["priority"] = is.priority
		}
	}
	var earlier map[string]*edit.Restore
	if before, ok := kept.(*Swap); ok {
		earlier = before.Restore
		back = map[string]any{"ensure": before.Ensure}
		if before.Size != "" {
			back["size"] = before.Size
		}
		if before.Priority != nil {
			back["priority"] = *before.Priority
		}
	}
	restore, err := s.files().Reversal(h, earlier)
	if err != nil {
		return nil, err
	}
	back["restore"] = restore
	if s.Fstab != "" {
		back["fstab"] = s.Fstab
	}
	return back, nil
}

// Watch implements [modules.Watcher]: no event is sent when swap areas are activated.
func (s *Swap) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: append(s.files().Paths(), s.Name), Polled: "whether it is active"}, nil
}

type state struct {
	Name     string `json:"name"`
	Size     int64  `json:"size,omitempty"`
	Priority *int   `json:"priority,omitempty"`
	Fstab    string `json:"fstab,omitempty"` // its line
}

// Describe implements [modules.Describer].
func (s *Swap) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "linux"}
	now, err := s.now(ctx, h)
	if err != nil {
		return d, err
	}
	is := state{Name: s.Name, Size: now.size}
	if now.holds == swapArea {
		d.Ensure = present
	}
	if now.active {
		d.Ensure, is.Priority = active, &now.priority
	}
	for _, f := range s.files() {
		text, _, err := f.Read(h.Files)
		if err != nil {
			return d, err
		}
		for _, line := range edit.Parse(text).Lines {
			if of := fstab.Fields(line.Text); of != nil && s.is(of) {
				is.Fstab = line.Text
			}
		}
	}
	d.State = is
	return d, nil
}

package file

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// state has the fields with which CCM's file type describes a path.
type state struct {
	Name     string    `json:"name"`
	Checksum string    `json:"checksum,omitempty"` // SHA-256 of a regular file
	Owner    string    `json:"owner,omitempty"`
	Group    string    `json:"group,omitempty"`
	Mode     string    `json:"mode,omitempty"`
	Provider string    `json:"provider"`
	MTime    time.Time `json:"mtime,omitzero"`
	Size     int64     `json:"size,omitempty"` // bytes
}

const provider = "posix"

// Describe implements [modules.Describer]. Links are followed.
func (f *File) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	at, err := look(h.Files, f.Name)
	if err != nil {
		return modules.Description{}, err
	}
	s := state{Name: f.Name, Provider: provider}
	d := modules.Description{Ensure: absent, Provider: provider}
	if at.Kind != modules.Absent {
		d.Ensure = present
		if at.Kind == modules.Directory {
			d.Ensure = directory
		}
		s.Owner, s.Group = h.Accounts.UserName(ctx, at.UID), h.Accounts.GroupName(ctx, at.GID)
		s.Mode, s.Size = modules.FormatMode(at.Mode), at.Size
		if s.MTime, err = h.Files.ModTime(f.Name); err != nil {
			return modules.Description{}, err
		}
	}
	if at.Kind == modules.Regular {
		if s.Checksum, err = h.Files.Digest(f.Name); err != nil {
			return modules.Description{}, err
		}
	}
	d.State = s
	return d, nil
}

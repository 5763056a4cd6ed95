package archive

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// state has the fields with which CCM's archive type describes an archive file.
type state struct {
	Name          string    `json:"name"`
	Checksum      string    `json:"checksum,omitempty"` // SHA-256 of the file
	ArchiveExists bool      `json:"archive_exists"`
	CreatesExists bool      `json:"creates_exists"`
	Owner         string    `json:"owner,omitempty"`
	Group         string    `json:"group,omitempty"`
	MTime         time.Time `json:"mtime,omitzero"`
	Size          int64     `json:"size,omitempty"` // bytes
	Provider      string    `json:"provider"`
}

const provider = "http"

// Describe implements [modules.Describer].
func (a *Archive) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	s := state{Name: a.Name, Provider: provider}
	lacks, err := missing(h.Files, a.Creates)
	if err != nil {
		return modules.Description{}, err
	}
	s.CreatesExists = a.Creates != "" && !lacks
	at, err := h.Files.Stat(a.Name)
	switch {
	case modules.NotThere(err) || err == nil && at.Kind != modules.Regular:
		return modules.Description{Ensure: absent, Provider: provider, State: s}, nil
	case err != nil:
		return modules.Description{}, err
	}
	s.ArchiveExists, s.Size = true, at.Size
	s.Owner, s.Group = h.Accounts.UserName(ctx, at.UID), h.Accounts.GroupName(ctx, at.GID)
	if s.Checksum, err = h.Files.Digest(a.Name); err != nil {
		return modules.Description{}, err
	}
	if s.MTime, err = h.Files.ModTime(a.Name); err != nil {
		return modules.Description{}, err
	}
	return modules.Description{Ensure: present, Provider: provider, State: s}, nil
}

package modules

import (
	"context"
	"io/fs"
	"os"
)

// NewAttributes are those of what the acting user makes and nothing else is said of: its
// own ids, and a mode without what others may, where nothing of it may be seen.
func NewAttributes(mode fs.FileMode, sensitive bool) Attributes {
	if sensitive {
		mode &= 0o700
	}
	return Attributes{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
}

// KeptAttributes are those of what is at a path. In a check run, ids that an earlier
// resource leaves open are -1.
func KeptAttributes(forecast Forecast, path string, at FileInfo) Attributes {
	if predicted, ok := forecast.Lookup(PathEffect, path); ok && predicted.(PathState).Partial {
		return Attributes{Mode: 0o600, UID: -1, GID: -1}
	}
	return Attributes{Mode: at.Mode, UID: at.UID, GID: at.GID}
}

// Given gives a with the owner, the group and the mode that a resource names; what it
// leaves out, which is "", stays.
func (a Attributes) Given(ctx context.Context, accounts Accounts, owner, group, mode string) (_ Attributes, err error) {
	if mode != "" {
		if a.Mode, a.Exact, err = ParseFullMode(mode); err != nil {
			return a, err
		}
	}
	if owner != "" {
		if a.UID, err = accounts.UserID(ctx, owner); err != nil {
			return a, Refuse("owner: %w", err)
		}
	}
	if group != "" {
		if a.GID, err = accounts.GroupID(ctx, group); err != nil {
			return a, Refuse("group: %w", err)
		}
	}
	return a, nil
}

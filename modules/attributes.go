package modules

import (
	"context"
	"io/fs"
	"os"
)

// NewAttributes returns the attributes of a new file or directory without further settings: the ids of the acting user,
// and for a sensitive one a mode without permissions for others.
func NewAttributes(mode fs.FileMode, sensitive bool) Attributes {
	if sensitive {
		mode &= 0o700
	}
	return Attributes{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
}

// KeptAttributes returns the attributes of the object at a path. In a check run, ids that an earlier resource leaves
// open are -1.
func KeptAttributes(forecast Forecast, path string, at FileInfo) Attributes {
	if predicted, ok := forecast.Lookup(PathEffect, path); ok && predicted.(PathState).Partial {
		return Attributes{Mode: 0o600, UID: -1, GID: -1}
	}
	return Attributes{Mode: at.Mode, UID: at.UID, GID: at.GID}
}

// Given returns a with the owner, group and mode of a resource. An empty owner, group or mode keeps the value in a. In a
// check run, the id of a new account may be a placeholder. So compare and show ids as [Accounts].UserName and GroupName
// name them.
func (a Attributes) Given(ctx context.Context, accounts Accounts, owner, group, mode string) (_ Attributes, err error) {
	accounts = ByName(accounts)
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

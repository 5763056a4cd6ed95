//go:build darwin || freebsd

package system

import "github.com/ccm-push/ccm-push/modules"

// newMounts returns nil: the type mount is for Linux.
func newMounts() modules.Mounts { return nil }

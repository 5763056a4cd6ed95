//go:build host && !full

package builtin

import "github.com/ccm-push/ccm-push/modules"

func foreign() modules.Registry { return nil }

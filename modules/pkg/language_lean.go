//go:build host && !full

package pkg

import "github.com/ccm-push/ccm-push/modules"

// manager is in the full program.
func (l place) manager(modules.Host, string) (manager, error) {
	return nil, modules.Refuse("the lean host program has no provider %s", l.provider)
}

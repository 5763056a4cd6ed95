//go:build host && !full

package pkg

import "github.com/ccm-push/ccm-push/modules"

// languageManager is in the full program.
func (p *Package) languageManager(modules.Host) (manager, error) {
	return nil, modules.Refuse("the lean host program has no provider %s", p.Provider)
}

//go:build !host

package line

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (l *Line) Related() []modules.Relation { return l.edited().Related(l.Ensure == absent) }

// ValidateStrict implements [modules.Strict].
func (l *Line) ValidateStrict() error { return l.edited().ValidateStrict(l.Ensure == absent) }

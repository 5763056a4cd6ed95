//go:build !full

package main

import (
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
)

// rules are only implemented in the full program, since they need an HTTP client.
var rules engine.Rules

// folders is only implemented in the full program, like all types whose resources need a folder.
func folders(string) session.Folders { return nil }

// watching is only implemented in the full program, since it needs a listener.
func watching(*system.RunLock) func(*session.Controller) session.Watching { return nil }

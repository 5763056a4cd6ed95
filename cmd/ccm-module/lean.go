//go:build !full

package main

import (
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
)

// rules are for the full program: they need an HTTP client.
var rules engine.Rules

// folders is for the full program: so are all types whose resources need one.
func folders(string) session.Folders { return nil }

// watching is for the full program: it needs what listens.
func watching(*system.RunLock) func(*session.Controller) session.Watching { return nil }

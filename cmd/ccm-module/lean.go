//go:build !full

package main

import (
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/session"
)

// rules are for the full program: they need an HTTP client.
var rules engine.Rules

// folders is for the full program: so are all types whose resources need one.
func folders(string) session.Folders { return nil }

//go:build !full

package main

import "github.com/ccm-push/ccm-push/modules/engine"

// rules are for the full program: they need an HTTP client.
var rules engine.Rules

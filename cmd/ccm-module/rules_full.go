//go:build full

package main

import "github.com/ccm-push/ccm-push/modules/health/judge"

// rules judges by rules of goss.
var rules = judge.Rules

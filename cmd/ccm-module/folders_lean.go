//go:build !full

package main

import "github.com/ccm-push/ccm-push/modules/engine/session"

// folders is for the full program: so are all types whose resources need one.
func folders(string) session.Folders { return nil }

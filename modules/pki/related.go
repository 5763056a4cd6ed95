//go:build !host

package pki

import "github.com/ccm-push/ccm-push/modules"

// Related is what a resource that makes the file has to do with others.
func (o *Output) Related() []modules.Relation { return o.file().Related() }
